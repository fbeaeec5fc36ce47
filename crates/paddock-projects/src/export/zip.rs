//! A project as a Zip, written as it is read: nothing is held whole and nothing has to be sought back to.

use std::io::Write;

use paddock_core::LogicalPath;
use paddock_tools::Person;
use zip::result::ZipError;
use zip::write::{SimpleFileOptions, StreamWriter};
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::{Export, Exported};
use crate::error::{ProjectError, Result};
use crate::left_out::{LeftOut, WhyLeft};
use crate::progress::{Meter, Watch};
use crate::source::{Met, Source, Visit};

/// From this length on an entry says its sizes in eight bytes: what does not compress grows a little.
const LARGE: u64 = 0xF000_0000;

/// Writes a project as a Zip.
///
/// # Errors
/// When the project cannot be read, or `out` takes no more. What was written to `out` is then no whole archive.
pub fn zip(
    person: &Person<'_>,
    path: &LogicalPath,
    export: Export,
    out: &mut dyn Write,
    watch: Watch<'_>,
) -> Result<Exported> {
    let source = Source::open(person, path)?;
    let mut archive = Archive { zip: ZipWriter::new_stream(out), told: Exported::default(), meter: Meter::new(watch) };
    source.visit(export.ignored, &mut archive)?;
    archive.zip.finish().map_err(failed)?;
    Ok(archive.told)
}

struct Archive<'a, 'o> {
    zip: ZipWriter<StreamWriter<&'o mut dyn Write>>,
    told: Exported,
    meter: Meter<'a>,
}

impl Visit for Archive<'_, '_> {
    fn dir(&mut self, path: &str, mode: u32) -> Result<()> {
        self.told.directories += 1;
        self.zip.add_directory(path, looks(mode)).map_err(failed)
    }

    fn file(&mut self, source: &Source<'_>, file: &Met<'_>) -> Result<()> {
        self.meter.at(file.path)?;
        let looks = looks(file.mode).large_file(file.len >= LARGE);
        let zip = &mut self.zip;
        let mut begun = false;
        // The entry begins with its first bytes: what cannot be read leaves no entry behind.
        let mut begin = |zip: &mut ZipWriter<_>| {
            let start = !std::mem::replace(&mut begun, true);
            if start { zip.start_file(file.path, looks).map_err(failed) } else { Ok(()) }
        };
        let read = source.read(file.path, file.len, &mut self.meter, &mut |piece| {
            begin(zip)?;
            zip.write_all(piece).map_err(ProjectError::Output)
        })?;
        begin(zip)?;
        if read.changed {
            self.told.left_out.add(file.path, WhyLeft::ChangedMeanwhile);
        }
        self.told.files += 1;
        self.told.bytes += read.bytes;
        self.meter.files += 1;
        Ok(())
    }

    fn link(&mut self, path: &str, leads_to: &str) -> Result<()> {
        self.told.links += 1;
        self.meter.files += 1;
        self.zip.add_symlink(path, leads_to, looks(0o777)).map_err(failed)
    }

    fn leave(&mut self, _: &str) -> Result<()> {
        Ok(())
    }

    fn left_out(&mut self) -> &mut LeftOut {
        &mut self.told.left_out
    }
}

/// The same time for everything: when a file was written is not its content.
fn looks(mode: u32) -> SimpleFileOptions {
    SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(DateTime::default())
        .unix_permissions(mode)
}

fn failed(error: ZipError) -> ProjectError {
    match error {
        ZipError::Io(error) => ProjectError::Output(error),
        other => ProjectError::Output(std::io::Error::other(other)),
    }
}
