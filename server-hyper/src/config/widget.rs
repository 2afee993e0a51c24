//! Settings of the widget and its chat.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use ::llm::EndpointConfig;
use conversations::widget::{TurnDeadlines, WidgetLimits, Window};

use super::reader::Reader;
use super::values;

/// The widget and its chat.
#[derive(Clone, Debug)]
pub struct WidgetServing {
    /// The address of its listener, if it has one.
    pub listen: Option<SocketAddr>,
    /// Rate limits of visitors and addresses.
    pub limits: WidgetLimits,
    /// Timeouts of replies.
    pub deadlines: TurnDeadlines,
    /// The LLM endpoints by the names that agents choose them by.
    pub endpoints: BTreeMap<String, EndpointConfig>,
    /// Credits for each started block of 1,000 tokens.
    pub credits_per_thousand_tokens: u32,
    /// Memory for search indexes, in bytes.
    pub knowledge_cache_bytes: usize,
    /// Whether documents are searched by meaning, and not by words alone.
    pub searches_by_meaning: bool,
}

impl WidgetServing {
    pub(super) fn read(reader: &mut Reader<'_>, llms: &BTreeMap<String, EndpointConfig>) -> Self {
        WidgetServing {
            listen: reader.one("widget_listen", None, values::optional_listen_address),
            limits: limits(reader),
            deadlines: deadlines(reader),
            endpoints: llms.clone(),
            credits_per_thousand_tokens: reader.number("llm_credits", 1),
            knowledge_cache_bytes: reader.length("knowledge_cache_size", 1 << 20, 1 << 40),
            searches_by_meaning: reader.one("knowledge_embedder", true, embedder),
        }
    }
}

fn embedder(name: &str) -> Result<bool, String> {
    match name {
        "built-in" => Ok(true),
        "none" => Ok(false),
        other => Err(format!("'{other}' is no embedder; write built-in, or none to search by words alone")),
    }
}

/// The public origin of a listener.
pub(super) fn public_origin(text: &str) -> Result<String, String> {
    let origin = text.trim_end_matches('/').to_ascii_lowercase();
    match values::web_origin(&origin) {
        Ok(origin) if origin != "*" && origin.starts_with("http") => Ok(origin),
        _ => Err(format!("'{text}' is not an origin; write https://widget.example.com, without a path")),
    }
}

fn deadlines(reader: &mut Reader<'_>) -> TurnDeadlines {
    let mut deadlines = TurnDeadlines::default();
    let given = reader.many("answer_timeout", |text| {
        let (name, duration) = text
            .split_once('=')
            .ok_or_else(|| format!("'{text}' is not NAME=DURATION, such as whole=90s"))?;
        let millis = u64::try_from(values::duration(duration)?.as_millis()).unwrap_or(u64::MAX);
        if !(100..=3_600_000).contains(&millis) {
            return Err(format!("'{duration}' must be from 100ms to 1h"));
        }
        Ok((name.to_owned(), millis))
    });
    for (name, millis) in given {
        match name.as_str() {
            "first_event" => deadlines.first_event = millis,
            "first_delta" => deadlines.first_delta = millis,
            "between_deltas" => deadlines.between_deltas = millis,
            "whole" => deadlines.whole = millis,
            _ => reader
                .error("answer_timeout", &format!("there is no timeout named '{name}'; --help lists them")),
        }
    }
    deadlines
}

fn limits(reader: &mut Reader<'_>) -> WidgetLimits {
    let mut limits = WidgetLimits::default();
    let mut named: BTreeMap<String, Vec<(u32, i64)>> = BTreeMap::new();
    for (name, limit) in reader.many("widget_limit", limit) {
        named.entry(name).or_default().push(limit);
    }
    for (name, given) in named {
        if let Some(open) = open_limit(&mut limits, &name) {
            *open = given.last().map_or(0, |(count, _)| *count);
        } else if let Some(windows) = windows_of(&mut limits, &name) {
            if given.iter().any(|(count, millis)| *count > 0 && *millis <= 0) {
                reader.error("widget_limit", &format!("'{name}' needs a duration, such as {name}=8/60s"));
            }
            let limited = given.iter().filter(|(count, millis)| *count > 0 && *millis > 0);
            *windows = limited
                .map(|(limit, millis)| Window { name: unit_of(*millis), millis: *millis, limit: *limit })
                .collect();
        } else {
            reader.error("widget_limit", &format!("there is no limit named '{name}'; --help lists them"));
        }
    }
    limits
}

/// Reads `NAME=COUNT/DURATION`, `NAME=COUNT` or `NAME=off`: a count of 0 and a duration of 0 stand for none.
fn limit(text: &str) -> Result<(String, (u32, i64)), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| format!("'{text}' is not NAME=COUNT/DURATION, such as turns=8/60s"))?;
    let number = |text: &str| text.parse::<u32>();
    let limit = match value.split_once('/') {
        _ if value == "off" => (0, 0),
        Some((count, duration)) => {
            let millis = values::duration(duration)?.as_millis();
            let millis = i64::try_from(millis).map_err(|_| format!("'{duration}' is too long"))?;
            (number(count).map_err(|_| format!("'{count}' is not a whole number"))?, millis)
        }
        None => (number(value).map_err(|_| format!("'{value}' is neither COUNT/DURATION nor off"))?, 0),
    };
    Ok((name.to_owned(), limit))
}

fn open_limit<'a>(limits: &'a mut WidgetLimits, name: &str) -> Option<&'a mut u32> {
    Some(match name {
        "streams" => &mut limits.streams.per_process,
        "agent_streams" => &mut limits.streams.per_agent,
        "address_streams" => &mut limits.streams.per_address,
        "open_uploads" => &mut limits.open_uploads.per_process,
        "agent_open_uploads" => &mut limits.open_uploads.per_agent,
        "address_open_uploads" => &mut limits.open_uploads.per_address,
        _ => return None,
    })
}

fn windows_of<'a>(limits: &'a mut WidgetLimits, name: &str) -> Option<&'a mut Vec<Window>> {
    Some(match name {
        "turns" => &mut limits.turns,
        "syncs" => &mut limits.syncs,
        "leads" => &mut limits.leads,
        "uploads" => &mut limits.uploads,
        "address_turns" => &mut limits.address_turns,
        "address_sessions" => &mut limits.address_sessions,
        "address_leads" => &mut limits.address_leads,
        "address_repeats" => &mut limits.address_repeats,
        "address_calls" => &mut limits.address_calls,
        "address_requests" => &mut limits.address_requests,
        "address_upload_mib" => &mut limits.address_upload_mib,
        "agent_upload_mib" => &mut limits.agent_upload_mib,
        "upload_mib" => &mut limits.upload_mib,
        "agent_turns" => &mut limits.agent_turns,
        _ => return None,
    })
}

/// The name of a window in responses: the unit of time closest to its length.
fn unit_of(millis: i64) -> &'static str {
    match millis {
        ..60_000 => "second",
        60_000..3_600_000 => "minute",
        3_600_000..86_400_000 => "hour",
        _ => "day",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_of_listeners() {
        assert_eq!(public_origin("https://Widget.example.com/").as_deref(), Ok("https://widget.example.com"));
        for bad in ["*", "widget.example.com", "https://widget.example.com/path", "file:///x"] {
            assert!(public_origin(bad).is_err(), "{bad}");
        }
    }
}
