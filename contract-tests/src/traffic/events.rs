//! Random requests for events. `wait` is left at 0: nothing else happens meanwhile.

use super::{Request, request};
use crate::SplitMix64;

const TYPES: [&str; 7] =
    ["*", "contact.*", "contact.created,file.uploaded", "key.*", "contact.updated", "contact", "no.such"];

pub(super) fn events(random: &mut SplitMix64) -> Request {
    if random.one_in(6) {
        return request("GET", "/events/types".to_owned());
    }
    let mut query = Vec::new();
    if random.one_in(2) {
        let after =
            random.pick(&["0", "1", "3", "9", "40", "999999", "-1", "1.x", "2.697dc8165d4ffa83cfc35cfc"]);
        query.push(format!("after={after}"));
    }
    if random.one_in(3) {
        query.push(format!("types={}", random.pick(&TYPES)));
    }
    if !random.one_in(3) {
        query.push(format!("limit={}", random.pick(&["1", "2", "7", "500", "0", "501", "x"])));
    }
    if random.one_in(8) {
        query.push(format!("wait={}", random.pick(&["0", "-1", "26"])));
    }
    let agent = if random.one_in(10) { "other" } else { "<A>" };
    let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
    request("GET", format!("/events/chatbots/{agent}{query}"))
}
