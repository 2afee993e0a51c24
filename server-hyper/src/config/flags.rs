//! The flags of the settings, generated from the registry.

use std::path::PathBuf;

use clap::error::Error;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};

use super::layers::FlagValues;
use super::registry::{LLM_SETTINGS, SETTINGS, Scope, Setting, ValueKind, flag_of, variable_of};

/// The flags that every command accepts.
#[derive(Clone, Debug, Default)]
pub struct GlobalArgs {
    /// The settings file.
    pub config: Option<PathBuf>,
    /// Whether records are printed as JSON.
    pub json: bool,
    /// The URL of the console elsewhere that runs the command.
    pub server: Option<String>,
    /// The file with the token for it.
    pub token_file: Option<PathBuf>,
    /// The settings.
    pub values: FlagValues,
}

const GLOBAL_HEADING: &str = "Global settings";

/// The heading that a scope's flags have in help.
fn heading(scope: Scope) -> &'static str {
    match scope {
        Scope::Global => GLOBAL_HEADING,
        Scope::Serve => "Server settings",
        Scope::Extract => "Extraction and LLM settings",
        Scope::Knowledge => "Limits",
        Scope::Outbound => "Requests to other services",
        Scope::Mail => "E-mail",
    }
}

fn flags_of(setting: &'static Setting) -> impl Iterator<Item = Arg> {
    let variable = variable_of(setting.key);
    let plain = (setting.kind != ValueKind::Secret).then(|| {
        let default = if setting.default.is_empty() || setting.kind == ValueKind::Bool {
            String::new()
        } else {
            format!(" [default: {}]", setting.default)
        };
        let help = format!("{}{default} [env: {variable}]", setting.help);
        let arg = Arg::new(setting.key).long(flag_of(setting.key)).value_name(setting.value_name).help(help);
        match setting.kind {
            ValueKind::Bool => arg.num_args(0..=1).require_equals(true).default_missing_value("true"),
            ValueKind::List => arg.action(ArgAction::Append).value_delimiter(','),
            _ => arg,
        }
    });
    let in_file = setting.allowed_in_file().then(|| {
        let help = match setting.kind {
            ValueKind::Secret => format!("File that contains: {} [env: {variable}_FILE]", setting.help),
            _ => {
                format!("File that contains the value of --{} [env: {variable}_FILE]", flag_of(setting.key))
            }
        };
        let key = format!("{}_file", setting.key);
        Arg::new(key.clone()).long(flag_of(&key)).value_name("FILE").help(help)
    });
    plain.into_iter().chain(in_file)
}

/// The flag `--llm`, which sets any field of any endpoint.
fn llm_flag() -> Arg {
    let fields: Vec<String> = LLM_SETTINGS
        .iter()
        .map(|it| match it.kind {
            ValueKind::Secret => format!("{}_file=FILE (file that contains: {})", it.key, it.help),
            _ => format!("{}={} ({})", it.key, it.value_name, it.help),
        })
        .collect();
    let help = format!(
        "Field of an LLM endpoint, such as main.url=https://models.example.com/v1; repeat the flag for each. NAME is \
         yours: lower-case letters, digits and hyphens. Chat uses the endpoint named default unless the agent's \
         settings name another; extraction uses that of --extraction-llm. Fields: {} [env: OPENAPI_LLM_NAME_FIELD]",
        fields.join("; ")
    );
    Arg::new("llm").long("llm").value_name("NAME.FIELD=VALUE").action(ArgAction::Append).help(help)
}

fn augment(command: Command, scope: Scope) -> Command {
    let settings = SETTINGS.iter().filter(|setting| setting.scope == scope).flat_map(flags_of);
    let llm = (scope == Scope::Extract).then(llm_flag);
    command.args(settings.chain(llm).map(|arg| arg.help_heading(heading(scope))).map(|arg| {
        if scope != Scope::Global {
            return arg;
        }
        let is_common = arg.get_id() == "store";
        arg.global(true).hide_short_help(!is_common)
    }))
}

fn values(matches: &ArgMatches, scope: Scope) -> FlagValues {
    let mut values = FlagValues::new();
    let settings = SETTINGS.iter().filter(|setting| setting.scope == scope);
    let keys = settings.flat_map(|setting| [setting.key.to_owned(), format!("{}_file", setting.key)]);
    for key in keys.chain((scope == Scope::Extract).then(|| "llm".to_owned())) {
        // Not every setting has both flags; clap reports an unknown id as an error.
        if let Ok(Some(given)) = matches.try_get_many::<String>(&key) {
            values.insert(key, given.cloned().collect());
        }
    }
    values
}

impl Args for GlobalArgs {
    fn augment_args(command: Command) -> Command {
        let config = Arg::new("config")
            .long("config")
            .value_name("FILE")
            .help("TOML file with settings; its keys are the flags in snake case [env: OPENAPI_CONFIG]")
            .value_parser(value_parser!(PathBuf))
            .global(true)
            .help_heading(GLOBAL_HEADING);
        let json = Arg::new("json")
            .long("json")
            .help("Print records as one JSON document")
            .action(ArgAction::SetTrue)
            .global(true)
            .help_heading(GLOBAL_HEADING);
        let server = Arg::new("server")
            .long("server")
            .value_name("URL")
            .help("Run the command at the console with this URL, with a service token [env: OPENAPI_TOKEN]")
            .global(true)
            .hide_short_help(true)
            .help_heading(GLOBAL_HEADING);
        let token_file = Arg::new("token-file")
            .long("token-file")
            .value_name("FILE")
            .help("File that contains the service token for --server")
            .value_parser(value_parser!(PathBuf))
            .global(true)
            .hide_short_help(true)
            .help_heading(GLOBAL_HEADING);
        augment(command.args([config, json, server, token_file]), Scope::Global)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for GlobalArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Ok(GlobalArgs {
            config: matches.get_one::<PathBuf>("config").cloned(),
            json: matches.get_flag("json"),
            server: matches.get_one::<String>("server").cloned(),
            token_file: matches.get_one::<PathBuf>("token-file").cloned(),
            values: values(matches, Scope::Global),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Declares the flags of the settings in some scopes.
macro_rules! flags_of_scopes {
    ($(#[$doc:meta] $flags:ident: $($scope:ident),+;)+) => {$(
        #[$doc]
        #[derive(Clone, Debug, Default)]
        pub struct $flags {
            /// The settings.
            pub values: FlagValues,
        }

        impl Args for $flags {
            fn augment_args(command: Command) -> Command {
                $(let command = augment(command, Scope::$scope);)+
                command
            }

            fn augment_args_for_update(command: Command) -> Command {
                Self::augment_args(command)
            }
        }

        impl FromArgMatches for $flags {
            fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
                let mut all = FlagValues::new();
                $(all.extend(values(matches, Scope::$scope));)+
                Ok($flags { values: all })
            }

            fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
                *self = Self::from_arg_matches(matches)?;
                Ok(())
            }
        }
    )+};
}

flags_of_scopes! {
    /// The flags of `serve` and `demo`.
    ServeArgs: Serve, Extract, Outbound, Mail;
    /// The flags of `extract`.
    ExtractArgs: Extract;
    /// The flags of `knowledge add`.
    KnowledgeArgs: Knowledge;
    /// The flags of `outbound check`.
    OutboundArgs: Outbound;
    /// The flags of `mail test`.
    MailArgs: Mail;
}
