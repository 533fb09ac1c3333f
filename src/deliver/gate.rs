//! Who stands between a try of a batch and its way out.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::{Letter, Report, Try};

/// Is asked about each try of a batch as it begins, before anything of it is done.
pub trait Gate: fmt::Debug + Send + Sync {
    /// Takes a try in hand, and says how it goes on.
    fn ask(&self, tried: Try, letter: &Arc<Letter>) -> Going;
}

/// Says how a try goes on.
pub enum Going {
    /// It goes in the moment in which the others go, and says this.
    Together(Try, Arc<Letter>),
    /// It goes by itself when this comes back, or has ended.
    Alone(BoxFuture<'static, Result<(Try, Arc<Letter>), Report>>),
}

impl fmt::Debug for Going {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Together(..) => "Together",
            Self::Alone(_) => "Alone",
        })
    }
}
