//! What carries a node link: a TCP connection, or a serial line. Whoever moves bytes need not know which.

mod serial;

pub use serial::{Line, RESET};

use std::fmt;
use std::io;
use std::time::Duration;

use ringwatch_core::link::Framing;
use serial::Port;
use tokio::net::TcpStream;

/// How long to wait for a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// Where the serving end of a link is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// HOST:PORT.
    Tcp(String),
    /// At the other end of a line.
    Serial(Line),
}

impl Address {
    /// How packets are told apart on the way to it.
    pub const fn framing(&self) -> Framing {
        match self {
            Self::Tcp(_) => Framing::Stream,
            Self::Serial(_) => Framing::Serial,
        }
    }

    /// Connects to it, or opens the line.
    pub async fn connect(&self) -> io::Result<Wire> {
        match self {
            Self::Tcp(address) => {
                let connecting = tokio::time::timeout(CONNECT, TcpStream::connect(address));
                let stream = connecting.await.map_err(|_| io::ErrorKind::TimedOut)??;
                stream.set_nodelay(true)?;
                Ok(Wire::Tcp(stream))
            }
            Self::Serial(line) => Wire::open(line),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => f.write_str(address),
            Self::Serial(line) => line.fmt(f),
        }
    }
}

/// Bytes in both directions, without waiting.
#[derive(Debug)]
pub enum Wire {
    /// A connection.
    Tcp(TcpStream),
    /// A line, which is there whether or not somebody is at its other end.
    Serial(Port),
}

impl Wire {
    /// Opens a serial line.
    pub fn open(line: &Line) -> io::Result<Self> {
        Port::open(line).map(Self::Serial)
    }

    /// How packets are told apart on it.
    pub const fn framing(&self) -> Framing {
        match self {
            Self::Tcp(_) => Framing::Stream,
            Self::Serial(_) => Framing::Serial,
        }
    }

    /// Waits until there is something to read, or perhaps is.
    pub async fn readable(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.readable().await,
            Self::Serial(port) => port.readable().await,
        }
    }

    /// Waits until something can be written, or perhaps can.
    pub async fn writable(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.writable().await,
            Self::Serial(port) => port.writable().await,
        }
    }

    /// Reads what there is. That there is nothing now is [`WouldBlock`](io::ErrorKind::WouldBlock), that there will be nothing more
    /// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof).
    pub fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = match self {
            Self::Tcp(stream) => stream.try_read(buffer),
            Self::Serial(port) => port.try_read(buffer),
        }?;
        match len {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            len => Ok(len),
        }
    }

    /// Writes as much as is taken now.
    pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.try_write(bytes),
            Self::Serial(port) => port.try_write(bytes),
        }
    }

    /// Waits for something to read, and reads it.
    pub async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.readable().await?;
            match self.try_read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
        }
    }

    /// Writes all of it.
    pub async fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.writable().await?;
            match self.try_write(bytes) {
                Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
