//! What the first process of a sandbox tells the launcher, as bytes of a fixed length through a pipe.
//!
//! The writer may not allocate, and the reader must not trust more than the numbers: the pipe is closed to the command.

pub(crate) mod stage {
    //! The stages of building, for `Report::Failed`; steps are numbered from `STEPS` on.

    pub(crate) const START: u32 = 1;
    pub(crate) const SYSTEM: u32 = 2;
    pub(crate) const PIVOT: u32 = 3;
    pub(crate) const NETWORK: u32 = 4;
    pub(crate) const CONFINE: u32 = 5;
    pub(crate) const LANDLOCK: u32 = 6;
    pub(crate) const FILTER: u32 = 7;
    pub(crate) const EXECUTE: u32 = 8;
    pub(crate) const STEPS: u32 = 100;
}

/// The length of a report.
pub(crate) const LENGTH: usize = 24;

/// One message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Report {
    /// A stage failed, with this error of the kernel; the command never ran.
    Failed { stage: u32, errno: i32 },
    /// The command's first process ended; processor time in microseconds, memory of the largest in KiB.
    Ended { status: i32, cpu: u64, memory: u64 },
}

impl Report {
    pub(crate) fn bytes(self) -> [u8; LENGTH] {
        let (kind, value, first, second) = match self {
            Report::Failed { stage, errno } => (2_u32, errno, u64::from(stage), 0),
            Report::Ended { status, cpu, memory } => (3, status, cpu, memory),
        };
        let mut bytes = [0; LENGTH];
        bytes[..4].copy_from_slice(&kind.to_ne_bytes());
        bytes[4..8].copy_from_slice(&value.to_ne_bytes());
        bytes[8..16].copy_from_slice(&first.to_ne_bytes());
        bytes[16..].copy_from_slice(&second.to_ne_bytes());
        bytes
    }

    pub(crate) fn read(bytes: &[u8; LENGTH]) -> Option<Report> {
        let (head, rest) = bytes.split_first_chunk::<4>()?;
        let (value, rest) = rest.split_first_chunk::<4>()?;
        let (first, rest) = rest.split_first_chunk::<8>()?;
        let (second, _) = rest.split_first_chunk::<8>()?;
        let (value, first, second) =
            (i32::from_ne_bytes(*value), u64::from_ne_bytes(*first), u64::from_ne_bytes(*second));
        match u32::from_ne_bytes(*head) {
            2 => Some(Report::Failed { stage: first as u32, errno: value }),
            3 => Some(Report::Ended { status: value, cpu: first, memory: second }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_heard() {
        for report in [Report::Failed { stage: 107, errno: 22 }, Report::Ended { status: 9, cpu: 1 << 40, memory: 77 }]
        {
            assert_eq!(Report::read(&report.bytes()), Some(report));
        }
        assert_eq!(Report::read(&[9; LENGTH]), None);
    }
}
