//! Spellings of addresses and names that must not be reached, each with the rules that may refuse it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An address of every refused block: its first, an inner and its last, with the word of the rule.
pub const ADDRESSES: &[(&str, &str)] = &[
    ("0.0.0.0", "loopback"),
    ("0.1.2.3", "loopback"),
    ("0.255.255.255", "loopback"),
    ("10.0.0.0", "private"),
    ("10.20.30.40", "private"),
    ("10.255.255.255", "private"),
    ("100.64.0.0", "private"),
    ("100.100.100.200", "private"),
    ("100.127.255.255", "private"),
    ("127.0.0.0", "loopback"),
    ("127.0.0.1", "loopback"),
    ("127.1.2.3", "loopback"),
    ("127.255.255.255", "loopback"),
    ("168.63.129.16", "metadata"),
    ("169.254.0.0", "link_local"),
    ("169.254.169.254", "link_local"),
    ("169.254.170.2", "link_local"),
    ("169.254.255.255", "link_local"),
    ("172.16.0.0", "private"),
    ("172.17.0.1", "private"),
    ("172.31.255.255", "private"),
    ("192.0.0.0", "reserved"),
    ("192.0.0.192", "reserved"),
    ("192.0.0.255", "reserved"),
    ("192.0.2.0", "documentation"),
    ("192.0.2.255", "documentation"),
    ("192.31.196.1", "reserved"),
    ("192.52.193.1", "reserved"),
    ("192.88.99.1", "translation"),
    ("192.168.0.0", "private"),
    ("192.168.1.1", "private"),
    ("192.168.255.255", "private"),
    ("192.175.48.1", "reserved"),
    ("198.18.0.0", "documentation"),
    ("198.19.255.255", "documentation"),
    ("198.51.100.7", "documentation"),
    ("203.0.113.7", "documentation"),
    ("224.0.0.0", "multicast"),
    ("239.255.255.250", "multicast"),
    ("240.0.0.0", "reserved"),
    ("255.255.255.255", "reserved"),
    ("::", "loopback"),
    ("::1", "loopback"),
    ("::127.0.0.1", "loopback"),
    ("::ffff:0:127.0.0.1", "reserved"),
    ("64:ff9b::127.0.0.1", "translation"),
    ("64:ff9b::808:808", "translation"),
    ("64:ff9b:1::a00:1", "translation"),
    ("64:ff9b:1:ffff::1", "translation"),
    ("100::1", "reserved"),
    ("1fff:ffff::1", "reserved"),
    ("4000::1", "reserved"),
    ("5f00::1", "reserved"),
    ("8000::1", "reserved"),
    ("fbff::1", "reserved"),
    ("fc00::1", "private"),
    ("fd00:ec2::254", "private"),
    ("fdff:ffff::1", "private"),
    ("fe80::1", "link_local"),
    ("febf::1", "link_local"),
    ("fec0::1", "private"),
    ("feff::1", "private"),
    ("ff02::1", "multicast"),
    ("2001::1", "translation"),
    ("2001:0:7f00:1::", "translation"),
    ("2001:2::1", "reserved"),
    ("2001:20::1", "reserved"),
    ("2001:1ff::1", "reserved"),
    ("2001:db8::1", "documentation"),
    ("2001:db8:ffff::1", "documentation"),
    ("2002:7f00:1::", "translation"),
    ("2002:808:808::1", "translation"),
    ("2620:4f:8000::1", "reserved"),
    ("3fff::1", "documentation"),
    ("3fff:fff::1", "documentation"),
];

/// Addresses next to refused blocks, and well-known public ones: they must pass.
pub const PUBLIC: &[&str] = &[
    "1.0.0.0",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "168.63.129.15",
    "168.63.129.17",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.0",
    "192.0.3.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "203.0.112.255",
    "203.0.114.0",
    "223.255.255.255",
    "2000::1",
    "2001:200::1",
    "2001:4860:4860::8888",
    "2001:db7:ffff::1",
    "2001:db9::1",
    "2003::1",
    "2606:4700:4700::1111",
    "2620:4f:7fff::1",
    "2620:4f:8001::1",
    "2a00::1",
    "3ffe:ffff::1",
    "3fff:1000::1",
];

/// Names that are refused without a resolution, with the word of the rule.
pub const NAMES: &[(&str, &str)] = &[
    ("localhost", "reserved_name"),
    ("LOCALHOST", "reserved_name"),
    ("LocalHost", "reserved_name"),
    ("loc%61lhost", "reserved_name"),
    ("ｌｏｃａｌｈｏｓｔ", "reserved_name"),
    ("ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "reserved_name"),
    ("local\u{ad}host", "reserved_name"),
    ("localhost.", "trailing_dot"),
    ("a.localhost", "reserved_name"),
    ("a.LocalHost", "reserved_name"),
    ("a。localhost", "reserved_name"),
    ("a．localhost", "reserved_name"),
    ("printer.local", "reserved_name"),
    ("printer.LOCAL", "reserved_name"),
    ("metadata.google.internal", "reserved_name"),
    ("x.internal", "reserved_name"),
    ("ｘ.ｉｎｔｅｒｎａｌ", "reserved_name"),
    ("router.home.arpa", "reserved_name"),
    ("home.arpa", "reserved_name"),
    ("expyuzz4wqqyqhjn.onion", "reserved_name"),
    ("intranet", "single_label"),
    ("kubernetes", "single_label"),
    ("xn--bcher-kva", "single_label"),
    ("bücher", "single_label"),
    ("example.com.", "trailing_dot"),
    ("hooks.example.com。", "trailing_dot"),
    ("metadata.google.internal.", "trailing_dot"),
];

/// Spellings of an IPv4 address as the host of a URL.
fn spellings_of_v4(address: Ipv4Addr) -> Vec<String> {
    let [a, b, c, d] = u32::from(address).to_be_bytes();
    let whole = u32::from(address);
    let (tail, half) = (whole & 0x00ff_ffff, whole & 0xffff);
    let (high, low) = (whole >> 16, whole & 0xffff);
    let wide: String =
        address.to_string().chars().map(|c| char::from_u32(c as u32 + 0xfee0).unwrap_or(c)).collect();
    let percent: String = address.to_string().bytes().map(|byte| format!("%{byte:02x}")).collect();
    vec![
        address.to_string(),
        format!("{address}."),
        format!("{whole}"),
        format!("0x{whole:x}"),
        format!("0X{whole:X}"),
        format!("0x{whole:016x}"),
        format!("0{whole:o}"),
        format!("{a}.{tail}"),
        format!("{a}.{b}.{half}"),
        format!("0x{a:x}.0x{tail:x}"),
        format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
        format!("0x{a:x}.0x{b:x}.0x{c:x}.0x{d:x}"),
        format!("0{a:o}.{b}.0x{c:x}.{d}"),
        format!("000{a:o}.{b}.{c}.{d}"),
        format!("{a}。{b}。{c}。{d}"),
        format!("{a}．{b}｡{c}.{d}"),
        format!("{a}.{b}.{c}\u{ad}.{d}"),
        format!("{a}.{b}\u{200b}.{c}.{d}"),
        wide,
        percent,
        format!("[::ffff:{address}]"),
        format!("[::FFFF:{high:x}:{low:x}]"),
        format!("[0:0:0:0:0:ffff:{address}]"),
        format!("[0000:0000:0000:0000:0000:ffff:{high:04x}:{low:04x}]"),
        format!("[::{high:x}:{low:x}]"),
        format!("[::ffff:0:{high:x}:{low:x}]"),
        format!("[64:ff9b::{address}]"),
        format!("[64:ff9b:1::{high:x}:{low:x}]"),
        format!("[2002:{high:x}:{low:x}::]"),
        format!("[2002:{high:x}:{low:x}::1]"),
        format!("[2001:0:{high:x}:{low:x}::]"),
        format!("[2001::{:x}:{:x}]", high ^ 0xffff, low ^ 0xffff),
    ]
}

fn spellings_of_v6(address: Ipv6Addr) -> Vec<String> {
    let full: Vec<String> = address.segments().iter().map(|segment| format!("{segment:04X}")).collect();
    let bare: Vec<String> = address.segments().iter().map(|segment| format!("{segment:x}")).collect();
    vec![format!("[{address}]"), format!("[{}]", full.join(":")), format!("[{}]", bare.join(":"))]
}

/// Every spelling of every refused address and name as the host of a URL.
pub fn hosts() -> Vec<String> {
    let addresses = ADDRESSES.iter().flat_map(|(text, _)| match text.parse().unwrap() {
        IpAddr::V4(address) => spellings_of_v4(address),
        IpAddr::V6(address) => spellings_of_v6(address),
    });
    addresses.chain(NAMES.iter().map(|(name, _)| (*name).to_owned())).collect()
}

/// URLs with a host: the ways in which parsers have read another host than the one that was checked.
pub fn urls(host: &str, port: u16) -> Vec<String> {
    vec![
        format!("https://{host}:{port}/"),
        format!("HTTPS://{host}:{port}"),
        format!("https:\\\\{host}:{port}\\hook"),
        format!("https:/{host}:{port}/hook?a=b#c"),
        format!(" https://\t{host}:{port}/\n"),
        format!("https://example.com@{host}:{port}/"),
        format!("https://example.com:443@{host}:{port}/"),
        format!("https://{host}:{port}\\@example.com/"),
        format!("https://{host}:{port}#@example.com/"),
        format!("https://{host}:{port}?@example.com/"),
    ]
}
