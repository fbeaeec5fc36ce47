//! What asking for hidden names costs on a tree of a hundred thousand files, first and afterwards.
//!
//! Figures are printed, never asserted: `cargo run -p paddock-exec --example hidden -- 1000 100` makes 1,000
//! directories of 100 files each.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::disallowed_methods)]

use std::time::{Duration, Instant};

use paddock_exec::Index;

fn main() {
    let number =
        |at: usize, default: usize| std::env::args().nth(at).and_then(|text| text.parse().ok()).unwrap_or(default);
    let (directories, files) = (number(1, 1000), number(2, 100));
    let top = std::env::temp_dir().join(format!("paddock-hidden-{}", std::process::id()));
    for directory in 0..directories {
        let path = top.join(format!("a{}/b{}/c{directory}", directory % 10, directory % 100));
        std::fs::create_dir_all(&path).unwrap();
        for file in 0..files {
            std::fs::write(path.join(format!("file{file}")), "").unwrap();
        }
        if directory % 50 == 0 {
            std::fs::write(path.join(".env"), "").unwrap();
        }
    }
    // Times that are fresh are not trusted.
    std::thread::sleep(Duration::from_millis(300));
    let index = Index::new(&top, Box::new(|path, _| path.file_name().is_some_and(|name| name == ".env")));
    for round in 0..6 {
        let began = Instant::now();
        let found = index.find().unwrap().len();
        println!("round {round}: {found} found in {:.3} ms", began.elapsed().as_secs_f64() * 1e3);
    }
    std::fs::remove_dir_all(top).unwrap();
}
