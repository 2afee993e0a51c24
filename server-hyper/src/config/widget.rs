//! The settings of the widget and of its chat as the program uses them.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use conversations::widget::{TurnDeadlines, WidgetLimits, Window};
use llm::{ApiKey, EndpointConfig, Price};

use super::typed::Reader;
use super::{endpoints, values};

/// The name of an endpoint that was given none: what agents ask without a choice of their own.
const DEFAULT: &str = "default";

/// What `serve` needs for the widget.
#[derive(Clone, Debug)]
pub struct WidgetServing {
    /// Where it is answered, if anywhere.
    pub listen: Option<SocketAddr>,
    /// What visitors and addresses may do.
    pub limits: WidgetLimits,
    /// How long an answer may take.
    pub deadlines: TurnDeadlines,
    /// The endpoints of models, by the names under which agents choose them.
    pub endpoints: BTreeMap<String, EndpointConfig>,
    /// Credits for each 1,000 tokens begun.
    pub credits_per_thousand_tokens: u32,
    /// What search indexes may take, in bytes.
    pub knowledge_memory: usize,
}

impl WidgetServing {
    pub(super) fn read(reader: &mut Reader<'_>) -> Self {
        let listen = reader.one("widget_listen", None, |text| {
            if text == "off" { Ok(None) } else { values::listen_address(text).map(Some) }
        });
        WidgetServing {
            listen,
            limits: limits(reader),
            deadlines: deadlines(reader),
            endpoints: llm_endpoints(reader),
            credits_per_thousand_tokens: reader.number("llm_credits", 1),
            knowledge_memory: usize::try_from(reader.bytes("knowledge_memory", 256 << 20, 1 << 20, 1 << 40))
                .unwrap_or(usize::MAX),
        }
    }
}

/// The origin of a listener as web pages see it.
pub(super) fn public_origin(text: &str) -> Result<String, String> {
    let origin = text.trim_end_matches('/').to_ascii_lowercase();
    match values::web_origin(&origin) {
        Ok(origin) if origin != "*" && origin.starts_with("http") => Ok(origin),
        _ => Err(format!("'{text}' is no origin; write such as https://widget.example.com, without a path")),
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
            _ => reader.fault("answer_timeout", &format!("there is no deadline named '{name}'")),
        }
    }
    deadlines
}

fn limits(reader: &mut Reader<'_>) -> WidgetLimits {
    let mut limits = WidgetLimits::default();
    let given = reader.many("widget_limit", |text| {
        let (name, value) =
            text.split_once('=').ok_or_else(|| format!("'{text}' is not NAME=COUNT/DURATION"))?;
        let read = match value.split_once('/') {
            _ if value == "off" => (0, 0),
            Some((count, duration)) => {
                let millis = values::duration(duration)?.as_millis();
                let millis = i64::try_from(millis).map_err(|_| format!("'{duration}' is too long"))?;
                (count.parse::<u32>().map_err(|_| format!("'{count}' is not a whole number"))?, millis)
            }
            None => (
                value.parse::<u32>().map_err(|_| format!("'{value}' is neither COUNT/DURATION nor off"))?,
                0,
            ),
        };
        Ok((name.to_owned(), read))
    });
    let mut named: BTreeMap<String, Vec<(u32, i64)>> = BTreeMap::new();
    for (name, read) in given {
        named.entry(name).or_default().push(read);
    }
    for (name, given) in named {
        let windows = match name.as_str() {
            "turns" => &mut limits.turns,
            "syncs" => &mut limits.syncs,
            "leads" => &mut limits.leads,
            "address_turns" => &mut limits.address_turns,
            "address_sessions" => &mut limits.address_sessions,
            "address_leads" => &mut limits.address_leads,
            "uploads" => &mut limits.uploads,
            "address_repeats" => &mut limits.address_repeats,
            "address_calls" => &mut limits.address_calls,
            "agent_turns" => &mut limits.agent_turns,
            "streams" | "agent_streams" | "address_streams" => {
                let count = given.last().map_or(0, |(count, _)| *count);
                match name.as_str() {
                    "streams" => limits.streams.per_process = count,
                    "agent_streams" => limits.streams.per_agent = count,
                    _ => limits.streams.per_address = count,
                }
                continue;
            }
            _ => {
                reader.fault("widget_limit", &format!("there is no limit named '{name}'"));
                continue;
            }
        };
        if given.iter().any(|(count, millis)| *count > 0 && *millis <= 0) {
            reader.fault("widget_limit", &format!("'{name}' needs a duration, such as {name}=8/60s"));
        }
        let kept = given.iter().filter(|(count, millis)| *count > 0 && *millis > 0);
        *windows = kept
            .map(|(limit, millis)| Window { name: named_window(*millis), millis: *millis, limit: *limit })
            .collect();
    }
    limits
}

/// What a window is called in answers: by the unit that it is about as long as.
fn named_window(millis: i64) -> &'static str {
    match millis {
        ..60_000 => "second",
        60_000..3_600_000 => "minute",
        3_600_000..86_400_000 => "hour",
        _ => "day",
    }
}

/// Splits `NAME=VALUE`; what has no name is the default's.
fn named(text: &str) -> (String, &str) {
    let (name, value) = endpoints::named(text);
    (name.unwrap_or(DEFAULT).to_owned(), value)
}

fn llm_endpoints(reader: &mut Reader<'_>) -> BTreeMap<String, EndpointConfig> {
    let mut endpoints: BTreeMap<String, EndpointConfig> = BTreeMap::new();
    let given = reader.many("llm_endpoint", |text| {
        let (name, address) = named(text);
        EndpointConfig::parse(address, "").map(|endpoint| (name, endpoint)).map_err(|error| error.to_string())
    });
    endpoints.extend(given);
    let models = reader.many("llm_model", |text| {
        let (name, model) = named(text);
        Ok((name, model.to_owned()))
    });
    let keys = reader.many("llm_key", |text| {
        let keys = endpoints::keys(text, ApiKey::new)?;
        let named = |(name, key): (Option<&str>, _)| (name.unwrap_or(DEFAULT).to_owned(), key);
        Ok(keys.into_iter().map(named).collect::<Vec<_>>())
    });
    let prices = reader.many("llm_price", |text| {
        let (name, price) = named(text);
        let wrong = || format!("'{text}' is not [NAME=]INPUT/OUTPUT, such as 0.15/0.60");
        let (input, output) = price.split_once('/').ok_or_else(wrong)?;
        let number =
            |text: &str| text.parse::<f64>().ok().filter(|it| it.is_finite() && *it >= 0.0).ok_or_else(wrong);
        Ok((name, Price { input: number(input)?, output: number(output)? }))
    });
    let mut unknown: Vec<(&str, String)> = Vec::new();
    for (name, model) in models {
        match endpoints.get_mut(&name) {
            Some(endpoint) => endpoint.model = model,
            None => unknown.push(("llm_model", name)),
        }
    }
    for (at, (name, key)) in keys.into_iter().flatten().enumerate() {
        match endpoints.get_mut(&name) {
            Some(endpoint) => endpoint.api_key = Some(key),
            // What stands in front of an equals sign may be a part of a key: it is not shown.
            None => reader.fault("llm_key", &format!("there is no endpoint for key {}", at + 1)),
        }
    }
    for (name, price) in prices {
        match endpoints.get_mut(&name) {
            Some(endpoint) => endpoint.price = price,
            None => unknown.push(("llm_price", name)),
        }
    }
    for (key, name) in unknown {
        reader.fault(key, &format!("there is no endpoint '{name}'; give llm_endpoint as well"));
    }
    for (name, endpoint) in &endpoints {
        if endpoint.model.is_empty() {
            reader.fault("llm_endpoint", &format!("'{name}' needs a model: give llm_model as well"));
        }
    }
    endpoints
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
