//! The flags of the settings, made from the table.

use std::path::PathBuf;

use clap::error::Error;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};

use super::layers::FlagValues;
use super::registry::{Kind, SETTINGS, Scope, Setting};

/// The flags that every command takes.
#[derive(Clone, Debug, Default)]
pub struct GlobalArgs {
    /// The settings file.
    pub config: Option<PathBuf>,
    /// Whether records are printed as JSON.
    pub json: bool,
    /// The settings.
    pub values: FlagValues,
}

/// The flags of `serve` and `demo`.
#[derive(Clone, Debug, Default)]
pub struct ServeArgs {
    /// The settings.
    pub values: FlagValues,
}

/// Those of them that a command takes which reads documents without a server.
#[derive(Clone, Debug, Default)]
pub struct ExtractArgs {
    /// The settings.
    pub values: FlagValues,
}

/// The flags of settings that `knowledge add` goes by.
#[derive(Clone, Debug, Default)]
pub struct KnowledgeArgs {
    /// The settings.
    pub values: FlagValues,
}

const FILE_HEADING: &str = "Settings of every command";

fn flags_of(setting: &'static Setting) -> impl Iterator<Item = Arg> {
    let plain = (setting.kind != Kind::Secret).then(|| {
        let default = if setting.default.is_empty() || setting.kind == Kind::Switch {
            String::new()
        } else {
            format!(" [default: {}]", setting.default)
        };
        let help = format!("{}{default} [env: {}]", setting.help, setting.variable());
        let arg = Arg::new(setting.key).long(setting.flag()).value_name(setting.value_name).help(help);
        match setting.kind {
            Kind::Switch => arg.num_args(0..=1).require_equals(true).default_missing_value("true"),
            Kind::Many => arg.action(ArgAction::Append).value_delimiter(','),
            _ => arg,
        }
    });
    let in_file = setting.may_stand_in_file().then(|| {
        let key = format!("{}_file", setting.key);
        let help = match setting.kind {
            Kind::Secret => format!("File that holds: {} [env: {}_FILE]", setting.help, setting.variable()),
            _ => format!(
                "File that holds the value of --{} [env: {}_FILE]",
                setting.flag(),
                setting.variable()
            ),
        };
        Arg::new(key).long(format!("{}-file", setting.flag())).value_name("FILE").help(help)
    });
    plain.into_iter().chain(in_file).map(|arg| match setting.scope {
        Scope::Global => arg.global(true).help_heading(FILE_HEADING).hide_short_help(setting.key != "store"),
        Scope::Serve => arg.help_heading("Settings of the server"),
        Scope::Extract => arg.help_heading("Settings of extraction"),
        Scope::Knowledge => arg.help_heading("Limits"),
    })
}

fn augment(command: Command, scope: Scope) -> Command {
    let settings = SETTINGS.iter().filter(|setting| setting.scope == scope);
    command.args(settings.flat_map(flags_of))
}

fn values(matches: &ArgMatches, scope: Scope) -> FlagValues {
    let mut values = FlagValues::new();
    for setting in SETTINGS.iter().filter(|setting| setting.scope == scope) {
        for key in [setting.key.to_owned(), format!("{}_file", setting.key)] {
            // A flag that the setting does not have is no error here.
            if let Ok(Some(given)) = matches.try_get_many::<String>(&key) {
                values.insert(key, given.cloned().collect());
            }
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
            .help_heading(FILE_HEADING);
        let json = Arg::new("json")
            .long("json")
            .help("Print records as one JSON document")
            .action(ArgAction::SetTrue)
            .global(true)
            .help_heading(FILE_HEADING);
        augment(command.args([config, json]), Scope::Global)
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
            values: values(matches, Scope::Global),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The flags of settings of some scopes.
macro_rules! flags_of_scopes {
    ($flags:ident: $($scope:ident),+) => {
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
    };
}

flags_of_scopes!(ServeArgs: Serve, Extract);
flags_of_scopes!(ExtractArgs: Extract);
flags_of_scopes!(KnowledgeArgs: Knowledge);
