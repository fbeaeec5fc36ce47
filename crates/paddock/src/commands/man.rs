//! `paddock man`: the manual pages, made from the same description as `--help`.

use clap::CommandFactory as _;

use crate::cli::{Cli, Man};
use crate::failure::{Ended, Failure};
use crate::host;
use crate::printer::{self, Printer};

pub(crate) fn run(options: &Man, printer: &Printer) -> anyhow::Result<Ended> {
    let command = Cli::command();
    let Some(dir) = &options.dir else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        printer.text(&String::from_utf8_lossy(&page))?;
        return Ok(Ended::Done);
    };
    let written = host::make_dir(dir).and_then(|()| clap_mangen::generate_to(command, dir));
    written.map_err(|error| {
        Failure::failed(
            format!("cannot write to \"{}\": {error}", dir.display()),
            "name a directory that you may write",
        )
    })?;
    printer::tell(format_args!("wrote the manual pages to \"{}\"", dir.display()));
    Ok(Ended::Done)
}
