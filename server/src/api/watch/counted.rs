//! What is counted of a watch.

use std::sync::Arc;
use std::time::Instant;

use crate::api::metrics::Sent;
use crate::histogram::Histogram;

/// Where a watch is counted.
pub(in crate::api) struct Counted {
    /// Its events.
    pub(in crate::api) sent: Arc<Sent>,
    /// If it is a list in the form of a watch: how long that takes. Gone once it is told.
    pub(in crate::api) list: Option<Box<ListTime>>,
}

/// How long a list takes that comes as a watch: from the request to the bookmark behind the last object.
pub(in crate::api) struct ListTime {
    begun: Instant,
    took: Arc<Histogram>,
}

impl ListTime {
    /// Counts from now on. Boxed, since most of a watch's life there is none.
    pub(in crate::api) fn begin(took: Arc<Histogram>) -> Box<Self> {
        Box::new(Self {
            begun: Instant::now(),
            took,
        })
    }

    fn end(&self) {
        self.took.observe_time(self.begun.elapsed());
    }
}

impl Counted {
    /// The bookmark behind the last object has been written.
    pub(super) fn listed(&mut self) {
        if let Some(list) = self.list.take() {
            list.end();
        }
    }
}
