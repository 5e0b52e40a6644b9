//! A wire that can be cut.

use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What becomes of connections through a [`Proxy`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    /// All passes.
    Whole,
    /// Nothing passes, and connections end.
    Cut,
    /// Nothing passes through the connections that there are, now or ever, and nobody is told. New ones are whole once the wire is.
    Frozen,
    /// What the client sends arrives. What the server answers does not.
    Deaf,
}

/// Passes connections on to a server.
pub(crate) struct Proxy {
    address: String,
    wire: Arc<watch::Sender<Wire>>,
}

impl Proxy {
    pub(crate) async fn start(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let wire = Arc::new(watch::Sender::new(Wire::Whole));
        let shared = Arc::clone(&wire);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(connection(client, server.clone(), shared.subscribe()));
            }
        });
        Self { address, wire }
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn set(&self, wire: Wire) {
        self.wire.send_replace(wire);
    }
}

async fn connection(mut client: TcpStream, server: String, mut wire: watch::Receiver<Wire>) {
    let Ok(mut server) = TcpStream::connect(server).await else {
        return;
    };
    loop {
        let now = *wire.borrow_and_update();
        match now {
            Wire::Cut => return,
            Wire::Frozen => {
                let _ = wire.wait_for(|wire| *wire == Wire::Cut).await;
            }
            Wire::Whole => tokio::select! {
                _ = copy_bidirectional(&mut client, &mut server) => return,
                _ = wire.changed() => {}
            },
            Wire::Deaf => {
                let mut buffer = vec![0; 1 << 16];
                tokio::select! {
                    sent = client.read(&mut buffer) => match sent {
                        Ok(length @ 1..) if server.write_all(&buffer[..length]).await.is_ok() => {}
                        _ => return,
                    },
                    _ = wire.changed() => {}
                }
            }
        }
    }
}
