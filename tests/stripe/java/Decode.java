import com.google.gson.FieldNamingPolicy;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.annotations.SerializedName;
import com.stripe.model.*;
import com.stripe.net.ApiResource;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Decodes all that ackdrop shows to stripe-java's classes, calls every typed getter and looks for each value that was shown.
 * Its enumerations are open texts, and its classes pass over what they lack: that is told, and no failure.
 */
public final class Decode {
    /** The classes that no event is about. */
    private static final Map<String, Class<? extends StripeObject>> CLASSES = new HashMap<>(EventDataClassLookup.classLookup);

    static {
        CLASSES.put("v2.billing.meter_event", com.stripe.model.v2.billing.MeterEvent.class);
        CLASSES.put("event", Event.class);
        CLASSES.put("item", LineItem.class);
        CLASSES.put("line_item", InvoiceLineItem.class);
    }

    private final List<String> problems = new ArrayList<>();
    private final TreeSet<String> untyped = new TreeSet<>();

    public static void main(String[] args) throws Exception {
        boolean failed = false;
        List<Path> files;
        try (Stream<Path> found = Files.list(Path.of(args[0]))) {
            files = found.filter(each -> each.toString().endsWith(".json")).sorted().collect(Collectors.toList());
        }
        for (Path file : files) {
            Decode decode = new Decode();
            String what = "java decode " + file.getFileName().toString().replaceFirst("\\.json$", "");
            try {
                decode.text(Files.readString(file));
            } catch (Exception error) {
                decode.problems.add(error.toString());
            }
            if (decode.problems.isEmpty()) {
                System.out.println("ok   " + what);
            } else {
                failed = true;
                System.out.println("FAIL " + what + ": " + String.join("; ", decode.problems).replaceAll("\\s+", " "));
            }
            if (!decode.untyped.isEmpty()) {
                System.out.println("     " + what + ": stripe-java lacks " + String.join(", ", decode.untyped));
            }
        }
        System.exit(failed ? 1 : 0);
    }

    private void text(String text) throws Exception {
        JsonObject shown = JsonParser.parseString(text).getAsJsonObject();
        String object = shown.get("object").getAsString();
        String suffix = object.equals("list") ? "Collection" : object.equals("search_result") ? "SearchResult" : "";
        if (!suffix.isEmpty()) {
            JsonArray data = shown.getAsJsonArray("data");
            if (data.isEmpty()) {
                problems.add("data holds nothing");
                return;
            }
            object = data.get(0).getAsJsonObject().get("object").getAsString();
        }
        Class<?> type = CLASSES.get(object);
        if (type == null) {
            problems.add(object + " has no class");
            return;
        }
        if (type == Card.class && !suffix.isEmpty()) {
            type = PaymentSource.class; // The SDK lists a customer's sources of every type alike.
        }
        type = Class.forName(type.getName() + suffix);
        object("", shown, ApiResource.GSON.fromJson(text, type));
    }

    private void object(String at, JsonObject shown, Object got) throws Exception {
        if (got instanceof StripeRawJsonObject) {
            problems.add(at + " is a raw object");
            return;
        }
        Map<String, Field> fields = new HashMap<>();
        for (Class<?> type = got.getClass(); type != null; type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                SerializedName name = field.getAnnotation(SerializedName.class);
                fields.putIfAbsent(name == null ? FieldNamingPolicy.LOWER_CASE_WITH_UNDERSCORES.translateName(field) : name.value(), field);
            }
        }
        for (Method method : got.getClass().getMethods()) {
            if (method.getName().startsWith("get") && method.getParameterCount() == 0 && !Modifier.isStatic(method.getModifiers())) {
                call(at + "." + method.getName(), method, got);
            }
        }
        for (Map.Entry<String, JsonElement> each : shown.entrySet()) {
            String place = at.isEmpty() ? each.getKey() : at + "." + each.getKey();
            Field field = fields.get(each.getKey());
            if (each.getValue().isJsonNull()) {
                continue;
            }
            if (field == null) {
                untyped.add(place);
                continue;
            }
            String getter = "get" + Character.toUpperCase(field.getName().charAt(0)) + field.getName().substring(1);
            if (got instanceof Event && each.getKey().equals("data")) {
                data((Event) got, place, each.getValue().getAsJsonObject());
            } else if (field.getType() == ExpandableField.class && each.getValue().isJsonObject()) {
                value(place, each.getValue(), call(place, got.getClass().getMethod(getter + "Object"), got));
            } else {
                if (field.getGenericType().getTypeName().contains("List<" + ExpandableField.class.getName())
                        && each.getValue().getAsJsonArray().toString().startsWith("[{")) {
                    getter = getter.replaceFirst("s$", "Objects");
                }
                value(place, each.getValue(), call(place, got.getClass().getMethod(getter), got));
            }
        }
    }

    /** Decodes what an event is about; `getObject` gives it only where the suite's version of the API is the SDK's own. */
    private void data(Event event, String at, JsonObject shown) throws Exception {
        EventDataObjectDeserializer deserializer = event.getDataObjectDeserializer();
        StripeObject about = deserializer.getObject().isPresent() ? deserializer.getObject().get() : deserializer.deserializeUnsafe();
        object(at + ".object", shown.getAsJsonObject("object"), about);
    }

    private Object call(String at, Method getter, Object got) throws Exception {
        try {
            getter.setAccessible(true);
            return getter.invoke(got);
        } catch (InvocationTargetException error) {
            problems.add(at + " throws " + error.getCause());
            return null;
        }
    }

    private void value(String at, JsonElement shown, Object got) throws Exception {
        if (shown.isJsonNull()) {
            return;
        }
        if (got == null) {
            problems.add(at + " is lost");
        } else if (shown.isJsonArray()) {
            List<?> all = new ArrayList<>((Collection<?>) got);
            if (all.size() != shown.getAsJsonArray().size()) {
                problems.add(at + " holds " + all.size());
                return;
            }
            for (int number = 0; number < all.size(); number++) {
                value(at + "[" + number + "]", shown.getAsJsonArray().get(number), all.get(number));
            }
        } else if (shown.isJsonObject() && got instanceof Map) {
            for (Map.Entry<String, JsonElement> each : shown.getAsJsonObject().entrySet()) {
                value(at + "." + each.getKey(), each.getValue(), ((Map<?, ?>) got).get(each.getKey()));
            }
        } else if (shown.isJsonObject()) {
            object(at, shown.getAsJsonObject(), got);
        } else if (got instanceof Number) {
            boolean decimal = got instanceof java.math.BigDecimal;
            if (shown.getAsJsonPrimitive().isString() && !decimal || ((Number) got).doubleValue() != shown.getAsDouble()) {
                problems.add(at + " is " + got + ", not " + shown);
            }
        } else if (!(got instanceof java.time.Instant) && !got.toString().equals(shown.getAsString())) {
            problems.add(at + " is " + got + ", not " + shown);
        }
    }
}
