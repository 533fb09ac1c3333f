//! What a card's issuer says when it refuses, and what a check says before it.

/// Is an issuer's refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decline {
    pub(crate) code: &'static str,
    pub(crate) decline_code: Option<&'static str>,
    pub(crate) message: &'static str,
    pub(crate) advice_code: Option<&'static str>,
    pub(crate) network_decline_code: Option<&'static str>,
    pub(crate) param: Option<&'static str>,
    /// `blocked` where the risk rules and not the issuer refuse.
    pub(crate) outcome: &'static str,
}

impl Decline {
    /// Returns the type of its error: what fails before the issuer is asked is no card's error.
    pub(crate) fn kind(&self) -> &'static str {
        match self.code {
            "payment_intent_authentication_failure" | "setup_intent_authentication_failure" => "invalid_request_error",
            _ => "card_error",
        }
    }
}

/// Iterates over all of them.
pub(crate) fn all() -> impl Iterator<Item = &'static Decline> {
    [
        &GENERIC,
        &INSUFFICIENT,
        &LOST,
        &STOLEN,
        &FRAUDULENT,
        &VELOCITY,
        &EXPIRED,
        &INCORRECT_CVC,
        &PROCESSING,
        &BLOCKED,
        &NOT_A_TEST_CARD,
        &AUTHENTICATION,
        &NOT_HANDLED,
        &INCORRECT_NUMBER,
        &INVALID_MONTH,
        &INVALID_YEAR,
        &INVALID_CVC,
    ]
    .into_iter()
}

const DECLINED: &str = "Your card was declined.";

const fn declined(decline_code: &'static str, message: &'static str, network: Option<&'static str>) -> Decline {
    Decline {
        code: "card_declined",
        decline_code: Some(decline_code),
        message,
        advice_code: Some("try_again_later"),
        network_decline_code: network,
        param: None,
        outcome: "issuer_declined",
    }
}

const fn wrong(code: &'static str, message: &'static str, param: Option<&'static str>) -> Decline {
    Decline {
        code,
        decline_code: None,
        message,
        advice_code: None,
        network_decline_code: None,
        param,
        outcome: "issuer_declined",
    }
}

const fn final_decline(decline: Decline) -> Decline {
    Decline {
        advice_code: Some("do_not_try_again"),
        ..decline
    }
}

pub(crate) static GENERIC: Decline = declined("generic_decline", DECLINED, Some("01"));
pub(crate) static INSUFFICIENT: Decline =
    declined("insufficient_funds", "Your card has insufficient funds.", Some("51"));
pub(crate) static LOST: Decline = final_decline(declined("lost_card", DECLINED, None));
pub(crate) static STOLEN: Decline = final_decline(declined("stolen_card", DECLINED, None));
pub(crate) static FRAUDULENT: Decline = final_decline(declined("fraudulent", DECLINED, None));
pub(crate) static VELOCITY: Decline = declined(
    "card_velocity_exceeded",
    "Your card was declined for making repeated attempts too frequently or exceeding its amount limit.",
    None,
);
pub(crate) static EXPIRED: Decline = Decline {
    advice_code: Some("do_not_try_again"),
    network_decline_code: Some("54"),
    ..wrong("expired_card", "Your card has expired.", Some("exp_month"))
};
pub(crate) static INCORRECT_CVC: Decline =
    wrong("incorrect_cvc", "Your card's security code is incorrect.", Some("cvc"));
pub(crate) static PROCESSING: Decline = Decline {
    advice_code: Some("try_again_later"),
    ..wrong(
        "processing_error",
        "An error occurred while processing your card. Try again in a little bit.",
        None,
    )
};
pub(crate) static BLOCKED: Decline = Decline {
    outcome: "blocked",
    ..final_decline(declined("fraudulent", DECLINED, None))
};
pub(crate) static NOT_A_TEST_CARD: Decline = declined(
    "test_mode_live_card",
    "Your card was declined. Your request was in test mode, but used a non test card. For a list of valid test cards, \
     visit: https://stripe.com/docs/testing.",
    None,
);
pub(crate) static AUTHENTICATION: Decline = Decline {
    code: "authentication_required",
    decline_code: Some("authentication_required"),
    network_decline_code: Some("1A"),
    advice_code: None,
    ..declined(
        "",
        "Your card was declined. This transaction requires authentication.",
        None,
    )
};
pub(crate) static NOT_HANDLED: Decline = Decline {
    decline_code: Some("authentication_not_handled"),
    ..wrong(
        "card_declined",
        "Your card was declined. This transaction requires authentication.",
        None,
    )
};
pub(crate) static PAYMENT_NOT_AUTHENTICATED: Decline = wrong(
    "payment_intent_authentication_failure",
    "The provided PaymentMethod has failed authentication. You can provide payment_method_data or a new PaymentMethod to \
     attempt to fulfill this PaymentIntent again.",
    None,
);
pub(crate) static SETUP_NOT_AUTHENTICATED: Decline = wrong(
    "setup_intent_authentication_failure",
    "The latest attempt to set up the payment method has failed because authentication failed.",
    None,
);
pub(crate) static INCORRECT_NUMBER: Decline =
    wrong("incorrect_number", "Your card number is incorrect.", Some("number"));
pub(crate) static INVALID_MONTH: Decline = wrong(
    "invalid_expiry_month",
    "Your card's expiration month is invalid.",
    Some("exp_month"),
);
pub(crate) static INVALID_YEAR: Decline = wrong(
    "invalid_expiry_year",
    "Your card's expiration year is invalid.",
    Some("exp_year"),
);
pub(crate) static INVALID_CVC: Decline = wrong("invalid_cvc", "Your card's security code is invalid.", Some("cvc"));
