import com.google.gson.Gson;
import com.google.gson.JsonObject;
import com.stripe.StripeClient;
import com.stripe.exception.StripeException;
import com.stripe.param.ChargeCreateParams;
import com.stripe.param.ChargeListParams;
import java.nio.file.Files;
import java.nio.file.Path;

/** Charges once a case with stripe-java, as the plan (a JSON file, the first argument) says, and prints what the program saw. */
public final class Client {
    static final class Entry {
        String url;
        String key;
        Integer retries;
        Integer timeout;
        boolean kept;
        @com.google.gson.annotations.SerializedName("case")
        String name;
    }

    public static void main(String[] args) throws Exception {
        Gson gson = new Gson();
        for (Entry entry : gson.fromJson(Files.readString(Path.of(args[0])), Entry[].class)) {
            System.out.println(gson.toJson(charge(entry)));
        }
    }

    private static JsonObject charge(Entry entry) throws StripeException {
        StripeClient.StripeClientBuilder builder =
                StripeClient.builder().setApiKey(entry.key).setApiBase(entry.url);
        if (entry.retries != null) {
            builder.setMaxNetworkRetries(entry.retries);
        }
        if (entry.timeout != null) {
            builder.setReadTimeout(entry.timeout);
        }
        StripeClient client = builder.build();
        if (entry.kept) {
            client.charges().list(ChargeListParams.builder().setLimit(1L).build());
        }
        JsonObject seen = new JsonObject();
        seen.addProperty("case", entry.name);
        try {
            ChargeCreateParams params = ChargeCreateParams.builder()
                    .setAmount(1099L)
                    .setCurrency("usd")
                    .setSource("tok_visa")
                    .build();
            seen.addProperty("id", client.charges().create(params).getId());
            seen.addProperty("saw", "success");
        } catch (StripeException error) {
            Integer status = error.getStatusCode();
            String suffix = status == null || status == 0 ? "" : " " + status;
            seen.addProperty("saw", error.getClass().getSimpleName() + suffix);
            seen.addProperty("detail", error.getMessage());
        } catch (RuntimeException error) {
            seen.addProperty("saw", error.getClass().getSimpleName());
            seen.addProperty("detail", error.getMessage());
        }
        return seen;
    }
}
