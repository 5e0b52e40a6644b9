//! Serial lines: a device that passes bytes on as they are, at some speed, and that may be unplugged.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use rustix::fs::OFlags;
use rustix::termios::{
    ControlModes, OptionalActions, QueueSelector, SpecialCodeIndex, ioctl_tiocexcl, tcflush,
    tcgetattr, tcsetattr,
};
use serde::Deserialize;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Bytes that are no packet. An end that has given up a session on a line sends them: the other end, if it has one, finds out at once that it is over, and
/// otherwise skips them.
pub const RESET: [u8; 4] = [0, 2, 0xff, 0];

/// A serial line, as the settings name it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Line {
    /// The device.
    pub path: PathBuf,
    /// Bits in a second; 8 data bits, no parity, one stop bit.
    #[serde(default = "Line::usual_baud")]
    pub baud: u32,
}

impl Line {
    /// What boards print at.
    pub const fn usual_baud() -> u32 {
        115_200
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.display().fmt(f)
    }
}

/// A line that is open, for this program alone.
#[derive(Debug)]
pub struct Port(AsyncFd<File>);

impl Port {
    pub(super) fn open(line: &Line) -> io::Result<Self> {
        let flags = OFlags::NOCTTY | OFlags::NONBLOCK;
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        let file = options
            .custom_flags(flags.bits().cast_signed())
            .open(&line.path)?;
        let mut settings = tcgetattr(&file)?;
        settings.make_raw();
        settings.set_speed(line.baud)?;
        // Nobody at the other end says whether it is ready, and closing the line is no reason to reset a board.
        settings.control_modes |= ControlModes::CLOCAL | ControlModes::CREAD;
        settings.control_modes &=
            !(ControlModes::CSTOPB | ControlModes::CRTSCTS | ControlModes::HUPCL);
        settings.special_codes[SpecialCodeIndex::VMIN] = 1;
        settings.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&file, OptionalActions::Now, &settings)?;
        ioctl_tiocexcl(&file)?;
        // What has come before is for nobody.
        tcflush(&file, QueueSelector::IOFlush)?;
        #[expect(
            deprecated,
            reason = "its successor is unsafe, for values that lend a descriptor; a file owns its own, and is not taken out"
        )]
        AsyncFd::new(file).map(Self)
    }

    pub(super) async fn readable(&self) -> io::Result<()> {
        self.0.readable().await.map(drop)
    }

    pub(super) async fn writable(&self) -> io::Result<()> {
        self.0.writable().await.map(drop)
    }

    pub(super) fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0
            .try_io(Interest::READABLE, |mut file| file.read(buffer))
    }

    pub(super) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0
            .try_io(Interest::WRITABLE, |mut file| file.write(bytes))
    }
}
