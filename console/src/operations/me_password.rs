//! The operator's own password, one-time codes and recovery codes.

use openapi_core::audit::AuditAction;
use openapi_core::json::json_object;
use openapi_core::operation::Method;
use openapi_core::reply::{ApiError, ErrorCode, Reply};
use openapi_core::validation::ValidationIssue;
use openapi_core::values::Timestamp;

use super::ceremony::{TotpSeed, confirmed_totp, new_password, new_totp};
use super::me::{change, own, write};
use super::types::{NoInput, Nothing};
use crate::auth::records::{PasskeyBody, PasswordBody, People, RecoveryCodesBody, Stored, TotpBody};
use crate::context::Context;
use crate::errors::refused;
use crate::input::{Secret, input};
use crate::operation::{Metadata, Operation, Traits};

/// How the operator can sign in.
pub struct Methods {
    passkeys: u32,
    password_changed_at: Option<Timestamp>,
    totp_confirmed_at: Option<Timestamp>,
    codes: Option<RecoveryCodesBody>,
}

json_object! { Methods as "OwnMethods" = |methods| {
    "passkeys": u32 = methods.passkeys,
    "passwordChangedAt": Option<Timestamp> { "description": "`null`: there is no password." } = methods.password_changed_at,
    "totpConfirmedAt": Option<Timestamp> {
        "description": "`null`: there are no one-time codes, and no password signs in."
    } = methods.totp_confirmed_at,
    "recoveryCodesLeft": Option<u32> { "description": "`null`: none were made." } =
        methods.codes.as_ref().map(|codes| u32::try_from(codes.tags.len()).unwrap_or(u32::MAX)),
    "recoveryCodesMadeAt": Option<Timestamp> = methods.codes.as_ref().map(|codes| codes.made_at),
} }

impl Methods {
    async fn of(cx: &Context<'_>) -> Result<Self, ApiError> {
        let account = &cx.own()?.account;
        let people = People(cx.platform());
        let passkeys = people.of_operator::<PasskeyBody>(account.operator_id()?).await?;
        let password = people.get::<PasswordBody>(&account.id).await?;
        let totp = people.get::<TotpBody>(&account.id).await?;
        let codes = people.get::<RecoveryCodesBody>(&account.id).await?;
        Ok(Methods {
            passkeys: u32::try_from(passkeys.len()).unwrap_or(u32::MAX),
            password_changed_at: password.map(|password| password.body.changed_at),
            totp_confirmed_at: totp.map(|totp| totp.body.confirmed_at),
            codes: codes.map(|codes| codes.body),
        })
    }
}

/// `me.methods`
pub struct Show;

impl Operation for Show {
    const METADATA: Metadata = Metadata {
        traits: Traits::SETS_UP,
        ..own("me.methods", "Shows how the operator can sign in.", (Method::Get, "/me/methods"), false, &[])
    };
    type Input = NoInput;
    type Output = Methods;

    async fn run(cx: Context<'_>, _: NoInput) -> Result<Reply<Methods>, ApiError> {
        Ok(Reply::ok("Methods retrieved successfully", Methods::of(&cx).await?))
    }
}

input! {
    /// A new password.
    NewPassword { "password" Body password: Secret, }
}

/// `me.setPassword`
pub struct SetPassword;

impl Operation for SetPassword {
    const METADATA: Metadata = own(
        "me.setPassword",
        "Sets another password, and ends all other sessions. One-time codes have to be there: `me.confirmTotp` sets both up.",
        (Method::Put, "/me/password"),
        true,
        &[AuditAction::OperatorMethod],
    );
    type Input = NewPassword;
    type Output = Nothing;

    async fn run(cx: Context<'_>, input: NewPassword) -> Result<Reply<Nothing>, ApiError> {
        let own = cx.own()?;
        let totp = People(cx.platform()).get::<TotpBody>(&own.account.id).await?;
        let Some(totp) = totp else {
            // A password alone would be a weaker way in than those that there are.
            let text = "A password needs one-time codes; set both up together";
            return Err(ApiError::new(ErrorCode::NotPossible, text));
        };
        // The codes are written as they are, so that nobody removes them at this moment.
        let changes = vec![new_password(&cx, &own.account, &input.password.0).await?, totp.save()?];
        write(&cx, changes, AuditAction::OperatorMethod, change("password set")).await?;
        cx.console.end_others(&cx, own).await?;
        Ok(Reply::ok("Password set successfully", Nothing))
    }
}

/// `me.beginTotp`
pub struct BeginTotp;

impl Operation for BeginTotp {
    const METADATA: Metadata = Metadata {
        traits: Traits { has_secret: true, ..Traits::SETS_UP_READ },
        ..own(
            "me.beginTotp",
            "Prepares one-time codes: a new seed, which counts once its first code is sent.",
            (Method::Post, "/me/totp"),
            true,
            &[],
        )
    };
    type Input = NoInput;
    type Output = TotpSeed;

    async fn run(cx: Context<'_>, _: NoInput) -> Result<Reply<TotpSeed>, ApiError> {
        let own = cx.own()?;
        let (operator, email) = (own.account.operator_id()?, &own.account.body.email);
        let seed = new_totp(&cx, operator, own.session.id.as_bytes(), email)?;
        Ok(Reply::ok("Seed created successfully", seed))
    }
}

input! {
    /// The first code of a seed, and a password if there is none.
    FirstCode {
        "enrolment" Body enrolment: Secret { "description": "That of `me.beginTotp`." },
        "code" Body code: Secret,
        "password" Body password: Option<Secret> { "description": "A new password. Required if there is none." },
    }
}

/// `me.confirmTotp`
pub struct ConfirmTotp;

impl Operation for ConfirmTotp {
    const METADATA: Metadata = Metadata {
        traits: Traits::SETS_UP,
        ..own(
            "me.confirmTotp",
            "Sets one-time codes up in place of the former ones, with a password if there is none, and ends all other \
             sessions. A session that could only set up a way to sign in can then do everything.",
            (Method::Put, "/me/totp"),
            true,
            &[AuditAction::OperatorTotp],
        )
    };
    type Input = FirstCode;
    type Output = Methods;

    async fn run(cx: Context<'_>, input: FirstCode) -> Result<Reply<Methods>, ApiError> {
        let own = cx.own()?;
        let binding = own.session.id.as_bytes();
        let mut changes = Vec::new();
        match &input.password {
            Some(Secret(password)) => changes.push(new_password(&cx, &own.account, password).await?),
            None => {
                let known = People(cx.platform()).get::<PasswordBody>(&own.account.id).await?;
                let known = known.ok_or_else(|| refused("password", ValidationIssue::required()))?;
                // Written as it is, so that nobody removes it at this moment.
                changes.push(known.save()?);
            }
        }
        let sent = (input.enrolment.0.as_str(), input.code.0.as_str());
        changes.extend(confirmed_totp(&cx, own.account.operator_id()?, binding, sent).await?);
        cx.console.promote(own, cx.accounts()?, &mut changes)?;
        write(&cx, changes, AuditAction::OperatorTotp, change("set up")).await?;
        cx.console.end_others(&cx, own).await?;
        Ok(Reply::ok("One-time codes set up successfully", Methods::of(&cx).await?))
    }
}

/// `me.removeTotp`
pub struct RemoveTotp;

impl Operation for RemoveTotp {
    const METADATA: Metadata = own(
        "me.removeTotp",
        "Removes the operator's password and its one-time codes. Another way to sign in has to be there.",
        (Method::Delete, "/me/totp"),
        true,
        &[AuditAction::OperatorTotp],
    );
    type Input = NoInput;
    type Output = Methods;

    async fn run(cx: Context<'_>, _: NoInput) -> Result<Reply<Methods>, ApiError> {
        let account = &cx.own()?.account;
        let people = People(cx.platform());
        let methods = cx.console.methods_of(account.operator_id()?).await?;
        if methods.iter().all(|method| *method == "password") {
            let text = "This is your only way to sign in; add a passkey or link a provider first";
            return Err(ApiError::new(ErrorCode::NotPossible, text));
        }
        let totp = people.get::<TotpBody>(&account.id).await?;
        let password = people.get::<PasswordBody>(&account.id).await?;
        // Two browsers that remove the last two ways to sign in at once meet at the account.
        let mut changes = vec![account.save()?];
        changes.extend(totp.iter().map(Stored::remove));
        changes.extend(password.iter().map(Stored::remove));
        write(&cx, changes, AuditAction::OperatorTotp, change("removed with the password")).await?;
        Ok(Reply::ok("Password and one-time codes removed successfully", Methods::of(&cx).await?))
    }
}

/// New recovery codes.
pub struct NewCodes(Vec<String>);

json_object! { NewCodes as "NewRecoveryCodes" = |made| {
    "recoveryCodes": Vec<String> {
        "description": "Each leads back into the account once. Shown this once."
    } = made.0,
} }

/// `me.makeRecoveryCodes`
pub struct MakeRecoveryCodes;

impl Operation for MakeRecoveryCodes {
    const METADATA: Metadata = Metadata {
        traits: Traits::ACCOUNTS_SECRET,
        ..own(
            "me.makeRecoveryCodes",
            "Makes ten recovery codes in place of the former ones.",
            (Method::Post, "/me/recovery-codes"),
            true,
            &[AuditAction::OperatorRecoveryCodes],
        )
    };
    type Input = NoInput;
    type Output = NewCodes;

    async fn run(cx: Context<'_>, _: NoInput) -> Result<Reply<NewCodes>, ApiError> {
        let operator = cx.own()?.account.operator_id()?;
        let mut changes = Vec::new();
        let codes = cx.console.new_recovery_codes(operator, &mut changes).await?;
        write(&cx, changes, AuditAction::OperatorRecoveryCodes, change("made")).await?;
        Ok(Reply::ok("Recovery codes made successfully", NewCodes(codes)))
    }
}
