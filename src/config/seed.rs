//! The file that says what every world begins with. What its objects are worth, the providers judge.

use std::path::PathBuf;

use serde_json::Value;

/// How large a seed may be.
const LARGEST: u64 = 16 << 20;

/// Keeps what a seed file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed {
    /// The file's name, as the user gave it.
    pub path: PathBuf,
    /// Its content.
    pub objects: Value,
}

impl Seed {
    pub(super) fn read(name: &str) -> Result<Self, String> {
        let path = PathBuf::from(name);
        let form = path.extension().and_then(|extension| extension.to_str());
        let parse: fn(&str) -> Result<Value, String> = match form {
            Some("json") => |text| serde_json::from_str(text).map_err(|error| error.to_string()),
            Some("toml") => |text| toml::from_str(text).map_err(|error| error.to_string().replace('\n', " ")),
            _ => return Err(format!("{name} is named neither .json nor .toml")),
        };
        let unread = |error: std::io::Error| format!("cannot read {name}: {error}");
        if std::fs::metadata(&path).map_err(unread)?.len() > LARGEST {
            return Err(format!("{name} is larger than {} MiB", LARGEST >> 20));
        }
        let text = std::fs::read_to_string(&path).map_err(unread)?;
        let objects = parse(&text).map_err(|error| format!("{name}: {error}"))?;
        Ok(Self { path, objects })
    }
}
