module ackdrop/clients/mail

go 1.19
