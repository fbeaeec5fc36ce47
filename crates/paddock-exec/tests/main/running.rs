//! Ordinary commands do ordinary work.

use crate::as_each_user;
use crate::main::harness::*;

as_each_user! {
    fn a_command_prints_and_ends_with_its_status() {
        let yard = Yard::new();
        let ran = sh(vec![yard.direct()], "echo out; echo err >&2; exit 7");
        assert_eq!((ran.code(), ran.out.as_str(), ran.err.as_str()), (7, "out\n", "err\n"));
    }

    fn a_direct_workspace_is_written_at_its_logical_path() {
        let yard = Yard::new();
        let ran = sh(vec![yard.direct()], "pwd; echo hi > a; cat a; ls -la / /tmp /dev /proc").well();
        assert!(ran.out.starts_with("/project\nhi\n"), "{ran:?}");
        assert_eq!(yard.read("w/a"), "hi\n");
    }

    fn a_read_only_workspace_is_read_and_not_written() {
        let yard = Yard::new();
        yard.write("w/a", "text");
        assert_eq!(sh(vec![yard.read_only()], "cat a").well().out, "text");
        sh(vec![yard.read_only()], "echo no > a").badly();
        sh(vec![yard.read_only()], "echo no > b").badly();
        assert_eq!(yard.read("w/a"), "text");
    }

    fn a_staged_workspace_stays_as_it_is() {
        let yard = Yard::new();
        yard.write("w/a", "text");
        let ran = sh(vec![yard.staged()], "echo more >> a; echo new > b; cat a b").well();
        assert_eq!(ran.out, "textmore\nnew\n");
        assert_eq!(yard.read("w/a"), "text");
        assert!(!yard.has("w/b"));
        assert_eq!(yard.read("upper/b"), "new\n");
    }
}
