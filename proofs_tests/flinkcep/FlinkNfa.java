import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.api.common.state.KeyedStateStore;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.cep.configuration.SharedBufferCacheConfig;
import org.apache.flink.cep.nfa.NFA;
import org.apache.flink.cep.nfa.NFAState;
import org.apache.flink.cep.nfa.aftermatch.AfterMatchSkipStrategy;
import org.apache.flink.cep.nfa.compiler.NFACompiler;
import org.apache.flink.cep.nfa.sharedbuffer.SharedBuffer;
import org.apache.flink.cep.nfa.sharedbuffer.SharedBufferAccessor;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.WithinType;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;

/**
 * FlinkCEP's own NFA on small streams, without a cluster. A case is a line, calls of the builder and
 * events, {@code begin a A>0;next b B;oneOrMore | A1@0 B0@5}: an event is its type, its value, its
 * time. The reply is a line, its matches as {@code found:name=0,2 name=3}, or {@code ! error}.
 */
public final class FlinkNfa {
    static List<String[]> events;

    /** An event by its number passes if it has the type, and a value above the bound if there is one. */
    static final class Passes extends SimpleCondition<Integer> {
        final String type;
        final int above;

        Passes(String text) {
            String[] words = text.split(">");
            type = words[0];
            above = words.length > 1 ? Integer.parseInt(words[1]) : Integer.MIN_VALUE;
        }

        @Override
        public boolean filter(Integer event) {
            String[] row = events.get(event);
            return row[0].equals(type) && Integer.parseInt(row[1]) > above;
        }
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String reply;
            try {
                reply = reply(line);
            } catch (Exception error) {
                reply = "! " + error.getClass().getSimpleName() + " " + error.getMessage();
            }
            System.out.println(reply.replace("\n", " "));
        }
        System.exit(0); // caches have a thread that stays
    }

    static String reply(String line) throws Exception {
        String[] halves = line.split("\\|", -1);
        events = new ArrayList<>();
        for (String word : halves[1].trim().split(" ")) {
            String[] parts = word.split("@");
            events.add(new String[] {parts[0].substring(0, 1), parts[0].substring(1), parts[1]});
        }
        AfterMatchSkipStrategy skip = AfterMatchSkipStrategy.noSkip();
        Pattern<Integer, Integer> pattern = null;
        for (String call : halves[0].trim().split(";")) {
            String[] words = call.trim().split(" ");
            if (words[0].startsWith("skip")) {
                skip = strategy(words);
            } else {
                pattern = called(pattern, skip, words);
            }
        }
        NFA<Integer> nfa = NFACompiler.compileFactory(pattern, false).createNFA();
        return matches(nfa, skip);
    }

    static AfterMatchSkipStrategy strategy(String[] words) {
        switch (words[0]) {
            case "skipToNext":
                return AfterMatchSkipStrategy.skipToNext();
            case "skipPastLastEvent":
                return AfterMatchSkipStrategy.skipPastLastEvent();
            case "skipToFirst":
                return AfterMatchSkipStrategy.skipToFirst(words[1]);
            default:
                return AfterMatchSkipStrategy.skipToLast(words[1]);
        }
    }

    static Pattern<Integer, Integer> called(
            Pattern<Integer, Integer> p, AfterMatchSkipStrategy skip, String[] words) {
        switch (words[0]) {
            case "begin":
                return Pattern.<Integer>begin(words[1], skip).where(new Passes(words[2]));
            case "next":
                return p.next(words[1]).where(new Passes(words[2]));
            case "followedBy":
                return p.followedBy(words[1]).where(new Passes(words[2]));
            case "followedByAny":
                return p.followedByAny(words[1]).where(new Passes(words[2]));
            case "notNext":
                return p.notNext(words[1]).where(new Passes(words[2]));
            case "notFollowedBy":
                return p.notFollowedBy(words[1]).where(new Passes(words[2]));
            case "times":
                return p.times(Integer.parseInt(words[1]), Integer.parseInt(words[2]));
            case "timesOrMore":
                return p.timesOrMore(Integer.parseInt(words[1]));
            case "optional":
                return p.optional();
            case "greedy":
                return p.greedy();
            case "consecutive":
                return p.consecutive();
            case "allowCombinations":
                return p.allowCombinations();
            case "until":
                return p.until(new Passes(words[1]));
            case "within":
                return p.within(Duration.ofMillis(Long.parseLong(words[1])));
            case "gap":
                Duration width = Duration.ofMillis(Long.parseLong(words[1]));
                return p.within(width, WithinType.PREVIOUS_AND_CURRENT);
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    static String matches(NFA<Integer> nfa, AfterMatchSkipStrategy skip) throws Exception {
        SharedBuffer<Integer> buffer =
                new SharedBuffer<>(store(), IntSerializer.INSTANCE, new SharedBufferCacheConfig());
        NFAState state = nfa.createInitialNFAState();
        List<String> found = new ArrayList<>();
        for (int i = 0; i < events.size(); i++) {
            long time = Long.parseLong(events.get(i)[2]);
            try (SharedBufferAccessor<Integer> accessor = buffer.getAccessor()) {
                add(found, i, nfa.advanceTime(accessor, state, time, skip).f0);
                add(found, i, nfa.process(accessor, state, i, time, skip, () -> 0L));
            }
        }
        return String.join(" / ", found);
    }

    static void add(List<String> found, int at, Collection<Map<String, List<Integer>>> matches) {
        for (Map<String, List<Integer>> match : matches) {
            StringBuilder text = new StringBuilder(at + ":");
            for (Map.Entry<String, List<Integer>> entry : new TreeMap<>(match).entrySet()) {
                String listed = entry.getValue().toString().replaceAll("[\\[\\] ]", "");
                text.append(text.toString().endsWith(":") ? "" : " ");
                text.append(entry.getKey()).append("=").append(listed);
            }
            found.add(text.toString());
        }
    }

    /** State in memory, of one key. */
    static KeyedStateStore store() {
        return (KeyedStateStore)
                Proxy.newProxyInstance(
                        FlinkNfa.class.getClassLoader(),
                        new Class<?>[] {KeyedStateStore.class},
                        (proxy, method, given) ->
                                method.getReturnType() == MapState.class
                                        ? map()
                                        : method.getReturnType() == ValueState.class ? value() : null);
    }

    static Object map() {
        Map<Object, Object> held = new HashMap<>();
        return Proxy.newProxyInstance(
                FlinkNfa.class.getClassLoader(),
                new Class<?>[] {MapState.class},
                (proxy, method, given) -> {
                    switch (method.getName()) {
                        case "get":
                            return held.get(given[0]);
                        case "put":
                            return held.put(given[0], given[1]) == null ? null : null;
                        case "putAll":
                            held.putAll((Map<?, ?>) given[0]);
                            return null;
                        case "remove":
                            held.remove(given[0]);
                            return null;
                        case "contains":
                            return held.containsKey(given[0]);
                        case "entries":
                            return new ArrayList<>(held.entrySet());
                        case "iterator":
                            return new ArrayList<>(held.entrySet()).iterator();
                        case "keys":
                            return new ArrayList<>(held.keySet());
                        case "values":
                            return new ArrayList<>(held.values());
                        case "isEmpty":
                            return held.isEmpty();
                        default:
                            held.clear();
                            return null;
                    }
                });
    }

    static Object value() {
        Object[] held = new Object[1];
        return Proxy.newProxyInstance(
                FlinkNfa.class.getClassLoader(),
                new Class<?>[] {ValueState.class},
                (proxy, method, given) -> {
                    if (method.getName().equals("value")) {
                        return held[0];
                    }
                    held[0] = method.getName().equals("update") ? given[0] : null;
                    return null;
                });
    }
}
