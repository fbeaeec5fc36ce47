//! Reading a staged file, for Stores that cannot take the file itself.

use std::os::unix::fs::FileExt as _;

use paddock_core::{ErrorKind, Result, Staged, StoreError};

/// Up to so many bytes from an offset on; fewer only where the file ends.
pub(crate) fn read_staged(staged: &Staged, at: u64, len: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; len];
    let mut filled = 0;
    while filled < len {
        match staged.file().read_at(&mut bytes[filled..], at + filled as u64) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(StoreError::caused_by(ErrorKind::Io, e)),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// All of a staged file.
pub(crate) fn whole_staged(staged: &Staged) -> Result<Vec<u8>> {
    let len = usize::try_from(staged.len())
        .map_err(|_| ErrorKind::TooLarge { what: "the size of a file", limit: usize::MAX as u64 })?;
    let bytes = read_staged(staged, 0, len)?;
    if bytes.len() == len { Ok(bytes) } else { Err(ErrorKind::Stale.into()) }
}
