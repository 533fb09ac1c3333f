import os
import smtplib

import pytest
import requests

orders = pytest.mark.parametrize("order", range(int(os.environ.get("ORDERS", "1"))))


@orders
def test_a_retry_under_its_key_charges_once(ackdrop, order):
    def charge():
        card = {"amount": 1099, "currency": "usd", "source": "tok_visa"}
        key = {"Idempotency-Key": f"order-{order}"}
        return requests.post(f"{ackdrop.url}/v1/charges", data=card, headers=key, auth=(ackdrop.key, ""))

    ackdrop.fault(provider="stripe", mode="drop-after-commit", on=1)
    with pytest.raises(requests.ConnectionError):
        charge()
    assert charge().json()["status"] == "succeeded"
    assert ackdrop.effects() == {"charge": 1}


@orders
def test_a_mail_whose_answer_is_lost_was_sent(ackdrop, order):
    ackdrop.fault(provider="smtp", mode="drop-after-commit", on=1)
    with smtplib.SMTP(ackdrop.smtp) as smtp, pytest.raises(smtplib.SMTPServerDisconnected):
        smtp.login(f"~{ackdrop.scope}", "any")
        smtp.sendmail("shop@example.com", "b@example.com", f"Subject: Receipt {order}\r\n\r\nThank you.\r\n")
    assert ackdrop.effects() == {"message": 1, "recipient": 1}
