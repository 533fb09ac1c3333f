import jakarta.mail.Message;
import jakarta.mail.Session;
import jakarta.mail.Transport;
import jakarta.mail.internet.InternetAddress;
import jakarta.mail.internet.MimeMessage;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Properties;
import org.eclipse.angus.mail.smtp.SMTPSendFailedException;

/** Sends one mail a line of stdin ("login, tab, timeout in ms") with Angus Mail, and says what it saw. */
class Client {
    static void send(String port, String user, String timeout) throws Exception {
        var settings = new Properties();
        settings.put("mail.smtp.host", "127.0.0.1");
        settings.put("mail.smtp.port", port);
        settings.put("mail.smtp.auth", "true");
        settings.put("mail.smtp.timeout", timeout);
        var message = new MimeMessage(Session.getInstance(settings));
        message.setFrom(new InternetAddress("a@example.com"));
        message.setRecipient(Message.RecipientType.TO, new InternetAddress("b@example.com"));
        message.setSubject("Receipt 17");
        message.setText("Thank you.");
        Transport.send(message, user, "secret");
    }

    static String seen(Exception error) {
        var name = error.getClass().getSimpleName();
        if (error instanceof SMTPSendFailedException failed) {
            return name + ", return code " + failed.getReturnCode();
        }
        var message = String.valueOf(error.getMessage()).lines().findFirst().orElse("").replaceAll(", port: \\d+", "");
        var cause = error.getCause() == null ? "" : " (" + error.getCause() + ")";
        return name + ": " + message + cause.lines().findFirst().orElse("");
    }

    public static void main(String[] args) throws Exception {
        System.out.println("ready");
        var lines = new BufferedReader(new InputStreamReader(System.in));
        for (var line = lines.readLine(); line != null; line = lines.readLine()) {
            var fields = line.split("\t");
            try {
                send(args[0], fields[0], fields[1]);
                System.out.println("ok");
            } catch (Exception error) {
                System.out.println(seen(error));
            }
        }
    }
}
