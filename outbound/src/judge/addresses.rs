//! Which addresses are refused: everything that is not a public unicast address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::rule::{Refusal, Rule};

/// A refused block of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) net: IpNet,
    pub(super) rule: Rule,
}

const fn v4(a: u8, b: u8, c: u8, d: u8, length: u8, rule: Rule) -> Block {
    Block { net: IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), length)), rule }
}

const fn v6(first: [u16; 3], length: u8, rule: Rule) -> Block {
    let [a, b, c] = first;
    Block { net: IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), length)), rule }
}

/// The refused blocks, from the registries of special-purpose addresses of IANA and the address of Azure's agent. The
/// first block that contains an address names the rule.
pub(super) const BLOCKS: &[Block] = &[
    v4(0, 0, 0, 0, 8, Rule::Loopback),
    v4(10, 0, 0, 0, 8, Rule::Private),
    v4(100, 64, 0, 0, 10, Rule::Private),
    v4(127, 0, 0, 0, 8, Rule::Loopback),
    v4(168, 63, 129, 16, 32, Rule::Metadata),
    v4(169, 254, 0, 0, 16, Rule::LinkLocal),
    v4(172, 16, 0, 0, 12, Rule::Private),
    v4(192, 0, 0, 0, 24, Rule::Reserved),
    v4(192, 0, 2, 0, 24, Rule::Documentation),
    v4(192, 31, 196, 0, 24, Rule::Reserved),
    v4(192, 52, 193, 0, 24, Rule::Reserved),
    v4(192, 88, 99, 0, 24, Rule::Translation),
    v4(192, 168, 0, 0, 16, Rule::Private),
    v4(192, 175, 48, 0, 24, Rule::Reserved),
    v4(198, 18, 0, 0, 15, Rule::Documentation),
    v4(198, 51, 100, 0, 24, Rule::Documentation),
    v4(203, 0, 113, 0, 24, Rule::Documentation),
    v4(224, 0, 0, 0, 4, Rule::Multicast),
    v4(240, 0, 0, 0, 4, Rule::Reserved),
    // What 2000::/3 does not contain, the parts with a rule of their own first. Mapped addresses are judged as those of
    // IPv4.
    v6([0, 0, 0], 96, Rule::Loopback),
    v6([0x64, 0xff9b, 0], 96, Rule::Translation),
    v6([0x64, 0xff9b, 1], 48, Rule::Translation),
    v6([0xfc00, 0, 0], 7, Rule::Private),
    v6([0xfe80, 0, 0], 10, Rule::LinkLocal),
    v6([0xfec0, 0, 0], 10, Rule::Private),
    v6([0xff00, 0, 0], 8, Rule::Multicast),
    v6([0, 0, 0], 3, Rule::Reserved),
    v6([0x4000, 0, 0], 2, Rule::Reserved),
    v6([0x8000, 0, 0], 1, Rule::Reserved),
    // Within 2000::/3.
    v6([0x2001, 0, 0], 32, Rule::Translation),
    v6([0x2001, 0, 0], 23, Rule::Reserved),
    v6([0x2001, 0xdb8, 0], 32, Rule::Documentation),
    v6([0x2002, 0, 0], 16, Rule::Translation),
    v6([0x2620, 0x4f, 0x8000], 48, Rule::Reserved),
    v6([0x3fff, 0, 0], 20, Rule::Documentation),
];

/// The address itself, or the one of IPv4 that it contains by `::ffff:0:0/96`.
#[must_use]
pub(crate) fn canonical(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

/// Judges an address.
pub(super) fn judge(address: IpAddr, blocks: &[Block]) -> Result<(), Refusal> {
    let address = canonical(address);
    match blocks.iter().find(|block| block.net.contains(&address)) {
        Some(block) => Err(Refusal::new(block.rule, format!("{address} is in {}", block.net))),
        None => Ok(()),
    }
}
