(* The judge: abstract syntax and events in, answers out, a line of JSON each.

   `cerlab show QUERY EVENTS --what ast --format json` writes the lines that are read here; docs/reference/ast.md
   describes them. A line is answered with {"answers": [..]} or {"refused": why}. `judge` evaluates by the
   semantics; `judge tecs` compiles the formula and runs Algorithms 1 and 2, also on the macro-states of a strategy;
   `judge strategies` runs the automaton of a strategy by all words of marks. `judge certificate` reads what
   `cerlab equivalent --certificate` writes, and answers {"accepted": true} or {"accepted": false}. `Proved`, which Coq extracts, computes all answers. This file is trusted, not proved: it reads
   JSON, and it computes with the values of events and compares them. It refuses whatever it does not know. *)

open Proved

exception Refused of string

let refuse why = raise (Refused why)

(* JSON without duplicate keys, lone surrogates, bytes that are not UTF-8, or text after the value. *)

type json =
  | Null
  | Truth of bool
  | Whole of int
  | Fraction of float
  | String of string
  | Array of json list
  | Object of (string * json) list

let most_depth = 1_000
let exact = 1 lsl 53

let json_of text =
  let at = ref 0 in
  let stop = String.length text in
  let peek () = if !at < stop then text.[!at] else '\000' in
  let no_json () = refuse (Printf.sprintf "no JSON at byte %d" !at) in
  let rec blank () =
    if !at < stop && String.contains " \t\r\n" text.[!at] then (incr at; blank ()) in
  let expect word =
    let n = String.length word in
    if !at + n <= stop && String.sub text !at n = word then at := !at + n else no_json () in
  let code_unit () =
    let digit c = match c with
      | '0' .. '9' -> Char.code c - 48
      | 'a' .. 'f' -> Char.code c - 87
      | 'A' .. 'F' -> Char.code c - 55
      | _ -> no_json () in
    let value = ref 0 in
    for _ = 1 to 4 do value := (!value * 16) + digit (peek ()); incr at done;
    !value in
  let character out =
    let c = peek () in
    incr at;
    match c with
    | '\\' ->
        let c = peek () in
        incr at;
        (match c with
         | '"' | '\\' | '/' -> Buffer.add_char out c
         | 'n' -> Buffer.add_char out '\n' | 't' -> Buffer.add_char out '\t'
         | 'r' -> Buffer.add_char out '\r' | 'b' -> Buffer.add_char out '\b'
         | 'f' -> Buffer.add_char out '\012'
         | 'u' ->
             let code = code_unit () in
             let code =
               if code < 0xd800 || code > 0xdfff then code
               else if code > 0xdbff then no_json ()
               else begin
                 expect "\\u";
                 let low = code_unit () in
                 if low < 0xdc00 || low > 0xdfff then no_json ();
                 0x10000 + ((code - 0xd800) lsl 10) + low - 0xdc00
               end in
             Buffer.add_utf_8_uchar out (Uchar.of_int code)
         | _ -> no_json ())
    | '\000' .. '\031' -> no_json ()
    | '\128' .. '\255' ->
        let first = Char.code c in
        let more = if first < 0xc2 then no_json () else if first < 0xe0 then 1
          else if first < 0xf0 then 2 else if first < 0xf5 then 3 else no_json () in
        let value = ref (first land (0x3f lsr more)) in
        for _ = 1 to more do
          let next = Char.code (peek ()) in
          if next land 0xc0 <> 0x80 then no_json ();
          value := (!value lsl 6) lor (next land 0x3f);
          incr at
        done;
        let least = match more with 1 -> 0x80 | 2 -> 0x800 | _ -> 0x10000 in
        if !value < least || not (Uchar.is_valid !value) then no_json ();
        Buffer.add_utf_8_uchar out (Uchar.of_int !value)
    | _ -> Buffer.add_char out c in
  let text_literal () =
    let out = Buffer.create 16 in
    expect "\"";
    while peek () <> '"' do character out done;
    incr at;
    Buffer.contents out in
  let number () =
    let start = !at in
    let is_digit () = match peek () with '0' .. '9' -> true | _ -> false in
    let digits () = if not (is_digit ()) then no_json (); while is_digit () do incr at done in
    if peek () = '-' then incr at;
    if peek () = '0' then incr at else digits ();
    let whole = !at in
    if peek () = '.' then (incr at; digits ());
    if peek () = 'e' || peek () = 'E' then begin
      incr at;
      if peek () = '+' || peek () = '-' then incr at;
      digits ()
    end;
    let written = String.sub text start (!at - start) in
    if !at > whole then
      let f = float_of_string written in
      if Float.is_finite f then Fraction f else refuse "a number beyond doubles"
    else match int_of_string_opt written with
      | Some i when abs i <= exact -> Whole i
      | _ -> refuse "a whole number beyond 2^53, which is written as {\"int\": \"..\"}" in
  let rec value depth =
    if depth > most_depth then refuse "nested too deeply";
    blank ();
    match peek () with
    | '{' -> incr at; Object (members depth '}' [])
    | '[' -> incr at; Array (elements depth [])
    | '"' -> String (text_literal ())
    | 't' -> expect "true"; Truth true
    | 'f' -> expect "false"; Truth false
    | 'n' -> expect "null"; Null
    | _ -> number ()
  and elements depth before =
    blank ();
    if before = [] && peek () = ']' then (incr at; [])
    else begin
      let before = value (depth + 1) :: before in
      blank ();
      match peek () with
      | ',' -> incr at; elements depth before
      | _ -> expect "]"; List.rev before
    end
  and members depth close before =
    blank ();
    if before = [] && peek () = close then (incr at; [])
    else begin
      let name = text_literal () in
      if List.mem_assoc name before then refuse ("the key " ^ name ^ " twice");
      blank ();
      expect ":";
      let before = (name, value (depth + 1)) :: before in
      blank ();
      match peek () with
      | ',' -> incr at; members depth close before
      | _ -> expect "}"; List.rev before
    end in
  let result = value 0 in
  blank ();
  if !at < stop then refuse "text after the JSON";
  result

let json_text text =
  let out = Buffer.create (String.length text + 2) in
  Buffer.add_char out '"';
  String.iter (fun c -> match c with
    | '"' | '\\' -> Buffer.add_char out '\\'; Buffer.add_char out c
    | '\000' .. '\031' | '\127' .. '\255' -> Buffer.add_string out (Printf.sprintf "\\u%04x" (Char.code c))
    | _ -> Buffer.add_char out c) text;
  Buffer.add_char out '"';
  Buffer.contents out

(* Parts of JSON; an object has exactly the keys that are named. *)

let fields names = function
  | Object given when List.length given = List.length names ->
      List.map (fun name -> match List.assoc_opt name given with
        | Some part -> part
        | None -> refuse ("no key " ^ name)) names
  | _ -> refuse ("no object with the keys " ^ String.concat ", " names)

let one a j = match fields [ "node"; a ] j with [ _; x ] -> x | _ -> assert false
let two a b j = match fields [ "node"; a; b ] j with [ _; x; y ] -> x, y | _ -> assert false
let three a b c j = match fields [ "node"; a; b; c ] j with [ _; x; y; z ] -> x, y, z | _ -> assert false
let four a b c d j =
  match fields [ "node"; a; b; c; d ] j with [ _; x; y; z; u ] -> x, y, z, u | _ -> assert false

let node = function
  | Object given -> (match List.assoc_opt "node" given with
      | Some (String kind) -> kind
      | _ -> refuse "a part without the name of its node")
  | _ -> refuse "a part that is no node"

let unknown what j = refuse (what ^ " " ^ node j)
let text = function String s -> s | _ -> refuse "no text where a text has to be"
let truth = function Truth b -> b | _ -> refuse "no Boolean where one has to be"
let list item = function Array items -> List.map item items | _ -> refuse "no list where one has to be"
let optional item = function Null -> None | j -> Some (item j)

(* Integers of any size are those of Coq. *)

let rec positive_of i =
  if i = 1 then XH else if i land 1 = 0 then XO (positive_of (i / 2)) else XI (positive_of (i / 2))
let n_of i = if i = 0 then N0 else Npos (positive_of i)
let z_of i = if i = 0 then Z0 else if i > 0 then Zpos (positive_of i) else Zneg (positive_of (-i))

let most_digits = 1_000

let z_of_text s =
  let is_negative = s <> "" && s.[0] = '-' in
  let first = if is_negative then 1 else 0 in
  let digits = String.length s - first in
  if digits < 1 || digits > most_digits then refuse "no integer, or one of too many digits";
  let sum = ref Z0 in
  for i = first to String.length s - 1 do
    match s.[i] with
    | '0' .. '9' as c -> sum := Z.add (Z.mul !sum (z_of 10)) (z_of (Char.code c - 48))
    | _ -> refuse "no integer where one has to be"
  done;
  if is_negative then Z.opp !sum else !sum

let less_z a b = Z.compare a b = Lt
let within low high z = not (less_z z low) && not (less_z high z)
let int64 = within (z_of_text "-9223372036854775808") (z_of_text "9223372036854775807")

let rec small_of = function XH -> 1 | XO p -> 2 * small_of p | XI p -> (2 * small_of p) + 1
let to_small z =
  if not (within (z_of (-exact)) (z_of exact) z) then None
  else Some (match z with Z0 -> 0 | Zpos p -> small_of p | Zneg p -> - (small_of p))

let small z = match to_small z with Some i -> i | None -> refuse "a number that is too large"
let double z = match to_small z with
  | Some i -> float_of_int i
  | None -> refuse "doubles and integers beyond 2^53 in one sum"

(* Numbers m 2^e, exactly. No number reaches 2^5000, which stands for infinity. *)

let rec shifted m k = if k = 0 then m else shifted (Z.double m) (k - 1)
let dyadic f =
  if Float.is_finite f then
    let m, e = Float.frexp f in
    z_of (int_of_float (Float.ldexp m 53)), e - 53
  else z_of (if f > 0. then 1 else -1), 5_000
let aligned f (m, d) (n, e) =
  let least = min d e in
  f (shifted m (d - least)) (shifted n (e - least)), least
let compare_dyadic a b = match fst (aligned Z.compare a b) with Lt -> -1 | Eq -> 0 | Gt -> 1
let minus = aligned (fun m n -> Z.add m (Z.opp n))

(* Values *)

type value =
  | Missing
  | Boolean of bool
  | Integer of z
  | Double of float
  | Text of string
  | Moment of z  (* nanoseconds since 1970 *)
  | Span of z

let billion = z_of 1_000_000_000

(* Digits from one place on, at least and at most so many of them. *)
let digits s at least most =
  let stop = ref at in
  while !stop < String.length s && s.[!stop] >= '0' && s.[!stop] <= '9' do incr stop done;
  if !stop - at < least || !stop - at > most then refuse ("no time: " ^ s);
  String.sub s at (!stop - at), !stop

let fraction s at =
  if at < String.length s && s.[at] = '.' then
    let part, at = digits s (at + 1) 1 9 in
    int_of_string ("0u" ^ part ^ String.make (9 - String.length part) '0'), at
  else 0, at

(* Days since 1970 of a date of the Gregorian calendar. *)
let days_of year month day =
  let floor_div a b = if a >= 0 then a / b else - ((b - 1 - a) / b) in
  let year = if month <= 2 then year - 1 else year in
  let era = floor_div year 400 in
  let of_era = year - (era * 400) in
  let of_year = (((153 * (month + (if month > 2 then -3 else 9))) + 2) / 5) + day - 1 in
  (era * 146_097) + (of_era * 365) + (of_era / 4) - (of_era / 100) + of_year - 719_468

let days_in year = function
  | 2 -> if year mod 4 = 0 && (year mod 100 <> 0 || year mod 400 = 0) then 29 else 28
  | 4 | 6 | 9 | 11 -> 30
  | _ -> 31

(* 2024-01-31T10:00:00.5Z, as the encoder writes all moments. *)
let moment s =
  let no_moment () = refuse ("no moment: " ^ s) in
  let sign = s <> "" && (s.[0] = '+' || s.[0] = '-') in
  let year, at = digits s (if sign then 1 else 0) (if sign then 5 else 4) (if sign then 9 else 4) in
  let year = int_of_string ("0u" ^ year) in
  let year = if sign && s.[0] = '-' then -year else year in
  let at = ref at in
  let part separator =
    if !at >= String.length s || s.[!at] <> separator then no_moment ();
    let d, next = digits s (!at + 1) 2 2 in
    at := next;
    int_of_string ("0u" ^ d) in
  let month = part '-' in
  let day = part '-' in
  let hour = part 'T' in
  let minute = part ':' in
  let second = part ':' in
  let nanos, stop = fraction s !at in
  if month < 1 || month > 12 || day < 1 || day > days_in year month || hour > 23 || minute > 59
     || second > 59 || String.sub s stop (String.length s - stop) <> "Z" then no_moment ();
  let seconds = (((((days_of year month day * 24) + hour) * 60) + minute) * 60) + second in
  Moment (Z.add (Z.mul (z_of seconds) billion) (z_of nanos))

(* -P1DT1H1M1.5S, as the encoder writes all durations. *)
let duration s =
  let no_duration () = refuse ("no duration: " ^ s) in
  let at = ref 0 in
  let here c = !at < String.length s && s.[!at] = c && (incr at; true) in
  let is_negative = here '-' in
  if not (here 'P') then no_duration ();
  let total = ref Z0 and parts = ref 0 in
  let unit letter nanoseconds =
    let start = !at in
    if start < String.length s && s.[start] >= '0' && s.[start] <= '9' then begin
      let n, next = digits s start 1 30 in
      let nanos, next = if letter = 'S' then fraction s next else 0, next in
      at := next;
      if here letter then begin
        incr parts;
        total := Z.add !total (Z.add (Z.mul (z_of_text n) nanoseconds) (z_of nanos))
      end else at := start
    end in
  unit 'D' (Z.mul (z_of 86_400) billion);
  if here 'T' then begin
    let before = !parts in
    unit 'H' (Z.mul (z_of 3_600) billion);
    unit 'M' (Z.mul (z_of 60) billion);
    unit 'S' billion;
    if !parts = before then no_duration ()
  end;
  if !at < String.length s || !parts = 0 then no_duration ();
  Span (if is_negative then Z.opp !total else !total)

let double_of_text s =
  let is_plain = s <> "" && String.for_all (fun c -> String.contains "0123456789.e+-" c) s in
  match s with
  | "NaN" -> Double Float.nan
  | "inf" -> Double Float.infinity
  | "-inf" -> Double Float.neg_infinity
  | _ -> (match if is_plain then float_of_string_opt s else None with
      | Some f when Float.is_finite f -> Double f
      | _ -> refuse ("no double: " ^ s))

let value = function
  | Null -> Missing
  | Truth b -> Boolean b
  | Whole i -> Integer (z_of i)
  | Fraction f -> Double f
  | String s -> Text s
  | Object [ ("int", String s) ] -> Integer (z_of_text s)
  | Object [ ("double", String s) ] -> double_of_text s
  | Object [ ("moment", String s) ] -> moment s
  | Object [ ("duration", String s) ] -> duration s
  | _ -> refuse "JSON that is no value"

let natural_z j = match value j with
  | Integer z when not (less_z z Z0) -> z
  | _ -> refuse "no natural number where one has to be"
let natural j = small (natural_z j)

let is_nan = function Double f -> Float.is_nan f | _ -> false

(* How two values compare; None if they do not. *)
let order a b =
  if is_nan a || is_nan b then None
  else match a, b with
    | Integer x, Integer y -> Some (compare_dyadic (x, 0) (y, 0))
    | Integer x, Double y -> Some (compare_dyadic (x, 0) (dyadic y))
    | Double x, Integer y -> Some (compare_dyadic (dyadic x) (y, 0))
    | Double x, Double y -> Some (compare x y)
    | Moment x, Moment y | Span x, Span y -> Some (compare_dyadic (x, 0) (y, 0))
    | Boolean x, Boolean y -> Some (compare x y)
    | Text x, Text y -> Some (compare x y)
    | _ -> None

let holds_between sign a b = match order a b with
  | None -> false
  | Some c -> (match sign with
      | "<" -> c < 0 | "<=" -> c <= 0 | ">" -> c > 0 | ">=" -> c >= 0 | "=" -> c = 0 | _ -> c <> 0)

let operator signs j = let s = text j in if List.mem s signs then s else refuse ("the operator " ^ s)
let comparison = operator [ "<"; "<="; ">"; ">="; "="; "!=" ]

(* Arithmetic in 64 bits; no value where it is undefined. *)
let compute sign left right =
  let is_time = function Moment _ | Span _ -> true | _ -> false in
  let is_number v = not (is_nan v) && match v with Integer _ | Double _ -> true | _ -> false in
  let floats a b =
    let r = match sign with
      | "+" -> a +. b | "-" -> a -. b | "*" -> a *. b
      | _ when b = 0. -> Float.nan
      | "/" -> a /. b
      | _ ->
          let r = Float.rem a b in
          if r = 0. then Float.copy_sign 0. b else if (b < 0.) <> (r < 0.) then r +. b else r in
    if Float.is_nan r || (Float.is_finite a && Float.is_finite b && not (Float.is_finite r)) then Missing
    else Double r in
  let is_operand = function Integer i -> int64 i | v -> is_number v in
  if (is_time left || is_number left) && (is_time right || is_number right) && (is_time left || is_time right) then
    refuse "arithmetic with times"
  else if not (is_operand left && is_operand right) then Missing
  else match left, right with
    | Integer a, Integer b ->
        let fit z = if int64 z then Integer z else Missing in
        (match sign with
         | "+" -> fit (Z.add a b) | "-" -> fit (Z.add a (Z.opp b)) | "*" -> fit (Z.mul a b)
         | _ when b = Z0 -> Missing
         | "/" -> floats (double a) (double b)
         | _ -> Integer (Z.modulo a b))
    | Integer a, Double b -> floats (double a) b
    | Double a, Integer b -> floats a (double b)
    | Double a, Double b -> floats a b
    | _ -> Missing

(* Events *)

type attributes = { kind : string; stream : string option; values : (string * value) list }

let attribute name t = match name with
  | "type" -> Text t.kind
  | "stream" -> (match t.stream with Some s -> Text s | None -> Missing)
  | _ -> Option.value (List.assoc_opt name t.values) ~default:Missing

let event_of number j = match fields [ "type"; "stream"; "attributes" ] j with
  | [ kind; stream; Object values ] ->
      let kind = text kind and stream = optional text stream in
      let values = List.map (fun (name, v) -> name, value v) values in
      { type0 = number kind; data = { kind; stream; values } }
  | _ -> refuse "an event without attributes"

let is_of_stream s t = match t.data.stream with None -> true | Some given -> given = s

(* Expressions: of one event, or of one event of each of some labels. *)

let rec expression leaf j = match node j with
  | "Constant" -> let v = value (one "value" j) in fun _ -> v
  | "Computed" ->
      let sign, left, right = three "operator" "left" "right" j in
      let sign = operator [ "+"; "-"; "*"; "/"; "%" ] sign in
      let left = expression leaf left in
      let right = expression leaf right in
      fun t -> compute sign (left t) (right t)
  | "Negated" ->
      let operand = expression leaf (one "operand" j) in
      fun t -> compute "-" (Integer Z0) (operand t)
  | _ -> leaf j

let of_event = expression (fun j -> match node j with
  | "Attribute" -> let name = text (one "name" j) in fun t -> attribute name t.data
  | _ -> unknown "the expression" j)

let rec predicate j = match node j with
  | "Everything" -> ignore (fields [ "node" ] j); fun _ -> true
  | "TypeIs" -> let name = text (one "type" j) in fun t -> t.data.kind = name
  | "StreamIs" -> is_of_stream (text (one "stream" j))
  | "Comparison" ->
      let sign, left, right = three "operator" "left" "right" j in
      let sign = comparison sign and left = of_event left and right = of_event right in
      fun t -> holds_between sign (left t) (right t)
  | "Member" ->
      let operand, values, negated = three "operand" "values" "negated" j in
      let operand = of_event operand and negated = truth negated in
      let constant j = if node j = "Constant" then value (one "value" j) else unknown "the constant" j in
      let values = list constant values in
      fun t ->
        let v = operand t in
        if negated then List.for_all (holds_between "!=" v) values else List.exists (holds_between "=" v) values
  | "Between" ->
      let operand, low, high, negated = four "operand" "low" "high" "negated" j in
      let operand = of_event operand and negated = truth negated in
      let low = optional of_event low and high = optional of_event high in
      let side sign bound t = match bound with
        | None -> []
        | Some bound -> [ holds_between sign (operand t) (bound t) ] in
      fun t ->
        if negated then List.exists Fun.id (side "<" low t @ side ">" high t)
        else List.for_all Fun.id (side ">=" low t @ side "<=" high t)
  | "And" -> let p, q = both_of predicate j in fun t -> p t && q t
  | "Or" -> let p, q = both_of predicate j in fun t -> p t || q t
  | "Not" -> let p = predicate (one "operand" j) in fun t -> not (p t)
  | _ -> unknown "the predicate" j
and both_of : 'a. (json -> 'a) -> json -> 'a * 'a = fun read j ->
  let left, right = two "left" "right" j in
  let left = read left in
  left, read right

let each test = Every (function [ t ] -> test t | _ -> false)

(* x.v < 2 * y.v: of one event of each label. *)
let correlation number j =
  let labels = ref [] in
  let side = expression (fun j -> match node j with
    | "LabelAttribute" ->
        let label, name = two "label" "attribute" j in
        let label = text label and name = text name in
        if not (List.mem label !labels) then labels := !labels @ [ label ];
        fun ts -> attribute name (List.assoc label ts).data
    | _ -> unknown "the expression" j) in
  let sign, left, right = three "operator" "left" "right" j in
  let sign = comparison sign in
  let left = side left in
  let right = side right in
  let names = !labels in
  let holds ts =
    List.compare_lengths ts names = 0
    && (let ts = List.combine names ts in holds_between sign (left ts) (right ts)) in
  Relates (Every holds, List.map number names)

let rec condition number j = match node j with
  | "On" ->
      let label, test = two "label" "predicate" j in
      Relates (each (predicate test), [ number (text label) ])
  | "Correlation" -> correlation number j
  | "And" -> let c, d = both_of (condition number) j in AndAlso (c, d)
  | "Or" -> let c, d = both_of (condition number) j in OrElse (c, d)
  | _ -> unknown "the condition" j

(* Windows. A clock reads the time of an event exactly. *)

type axis = { name : string; nanoseconds : z option }

let axis j = match fields [ "attribute"; "unit" ] j with
  | [ name; unit ] ->
      let nanoseconds = function
        | "ns" -> 1 | "us" -> 1_000 | "ms" -> 1_000_000 | "s" -> 1_000_000_000
        | "min" -> 60_000_000_000 | "h" -> 3_600_000_000_000 | "d" -> 86_400_000_000_000
        | other -> refuse ("the unit " ^ other) in
      { name = text name; nanoseconds = optional (fun j -> z_of (nanoseconds (text j))) unit }
  | _ -> assert false

let number_of v = match v with
  | Integer z -> z, 0
  | Double f when Float.is_finite f -> dyadic f
  | _ -> refuse "an event without its time"

let clock_of_axis axis t = match attribute axis.name t.data, axis.nanoseconds with
  | Moment z, _ -> if int64 z then z, 0 else refuse "a moment that is too far away"
  | v, Some nanoseconds -> let m, e = number_of v in Z.mul m nanoseconds, e
  | _ -> refuse "times without a unit"

let most_size = 2_000

(* What a line says: names are numbered, clocks are collected. *)
let question j =
  let query, time, until, events = match fields [ "format"; "version"; "query"; "time"; "until"; "events" ] j with
    | [ String "cerlab-ast"; Whole 2; query; time; until; events ] -> query, time, until, events
    | _ -> refuse "another format or version than cerlab-ast, 2" in
  let time = optional axis time in
  ignore (value until);
  let numbers = Hashtbl.create 8 in
  let number name = n_of (match Hashtbl.find_opt numbers name with
    | Some i -> i
    | None -> let i = Hashtbl.length numbers in Hashtbl.add numbers name i; i) in
  let clocks = ref [] in
  let near clock width =
    clocks := clock :: !clocks;
    Between (fun t u -> compare_dyadic (minus (clock u) (clock t)) width <= 0) in
  let window j = match node j with
    | "EventWindow" -> Events (Option.value (to_small (natural_z (one "width" j))) ~default:exact)
    | "TimeWindow" ->
        (match time with
         | Some axis -> near (clock_of_axis axis) (natural_z (one "nanoseconds" j), 0)
         | None -> refuse "a window in time, and no time")
    | "AttributeWindow" ->
        let width, name = two "width" "attribute" j in
        let name = text name in
        near (fun t -> number_of (attribute name t.data)) (number_of (value width))
    | _ -> unknown "the window" j in
  let strategy j = match text j with
    | "STRICT" -> Strict | "NEXT" -> Nxt | "LAST" -> Last | "MAX" -> Max
    | other -> refuse ("the strategy " ^ other) in
  let labels names = List.fold_left (fun l x -> add0 (number x) l) none names in
  (* A formula, and its size when counts are written out. *)
  let bounded (phi, n) = if n > most_size then refuse "a formula that is too large" else phi, n in
  let rec formula j = bounded (match node j with
    | "Atom" ->
        let kind, stream = two "type" "stream" j in
        let kind = number (text kind) in
        (match optional text stream with
         | None -> Atom kind, 1
         | Some s -> Filter (Atom kind, Relates (each (is_of_stream s), [ kind ])), 2)
    | "Not" -> unary (fun f -> Not f) (one "body" j)
    | "As" -> let body, x = two "body" "label" j in unary (fun f -> As (f, number (text x))) body
    | "Filter" ->
        let body, c = two "body" "condition" j in
        let c = condition number c in
        unary (fun f -> Filter (f, c)) body
    | "Or" -> binary (fun f g -> Or (f, g)) j
    | "And" -> binary (fun f g -> And (f, g)) j
    | "All" -> binary (fun f g -> All (f, g)) j
    | "Unless" -> binary (fun f g -> Unless (f, g)) j
    | "Seq" -> binary (fun f g -> Seq (f, g)) j
    | "Concat" -> binary (fun f g -> Concat (f, g)) j
    | "Plus" -> unary (fun f -> Plus f) (one "body" j)
    | "ConcatPlus" -> unary (fun f -> ConcatPlus f) (one "body" j)
    | "Count" ->
        let body, least, most, gaps = four "body" "least" "most" "gaps" j in
        counted (formula body) (natural least) (optional natural most) (truth gaps)
    | "Project" ->
        let names, body, of_streams = three "labels" "body" "of_streams" j in
        if of_streams <> Array [] then refuse "labels of a stream";
        let kept = labels (list text names) in
        unary (fun f -> Project (kept, f)) body
    | "Rename" ->
        let x, y, body = three "old" "new" "body" j in
        let x = number (text x) and y = number (text y) in
        unary (fun f -> Rename (x, y, f)) body
    | "Select" -> let s, body = two "strategy" "body" j in let s = strategy s in unary (fun f -> Select (s, f)) body
    | "Within" -> let body, w = two "body" "window" j in let w = window w in unary (fun f -> Within (f, w)) body
    | _ -> unknown "the operator" j)
  and unary wrap j = let f, n = formula j in wrap f, n + 1
  and binary wrap j =
    let (f, m), (g, n) = both_of formula j in
    wrap f g, m + n + 1
  and counted (f, n) least most gaps =
    if least < 1 || least > most_size then refuse "a count from 0, or one that is too large";
    match most with
    | None -> bounded (count_up gaps f (least - 1), (n + 1) * least)
    | Some most ->
        if most < least || most > most_size then refuse "a count from a larger number to a smaller, or too large";
        let size = (n + 1) * ((most * (most + 1)) - (least * (least - 1))) / 2 in
        let _ = bounded (f, size) in
        count gaps f (least - 1) (most - least), size in
  let item j =
    if node j <> "SelectItem" then unknown "the item" j;
    let label, shown, stream = three "label" "attributes" "stream" j in
    if stream <> Null then refuse "labels of a stream";
    ignore (list text shown);
    text label in
  if node query <> "CeqlQuery" then unknown "the query" query;
  match fields [ "node"; "formula"; "items"; "strategy"; "streams"; "partition"; "window"; "consume"; "limit";
                 "throttle"; "aggregates"; "groups" ] query with
  | [ _; body; items; selects; streams; partition; width; consume; limit; throttle; aggregates; groups ] ->
      if throttle <> Null then refuse "THROTTLE";
      if (aggregates, groups) <> (Array [], Array []) then refuse "aggregates";
      let body, _ = formula body in
      let kept = optional (fun j -> labels (list item j)) items in
      let streams = list text streams in
      let partition = List.concat (list (list text) partition) in
      let width = optional window width in
      let consume = match text consume with
        | "NONE" -> KeepAll | "ANY" -> ConsumeAny | "PARTITION" -> ConsumePartition
        | other -> refuse ("CONSUME BY " ^ other) in
      let limit = optional (fun j ->
        if node j = "Limit" then natural (one "per_end" j) else unknown "the limit" j) limit in
      let reads t = streams = [] || List.exists (fun s -> is_of_stream s t) streams in
      (* Values that compare equal have one key: 1 and 1.0 do, 1 and TRUE do not. *)
      let rec normal (m, e) = match m with
        | Z0 -> Z0, 0
        | Zpos (XO p) -> normal (Zpos p, e + 1)
        | Zneg (XO p) -> normal (Zneg p, e + 1)
        | _ -> m, e in
      let part v = match v with
        | Missing -> None
        | v when is_nan v -> None
        | Integer z -> Some (`Number (normal (z, 0)))
        | Double f -> Some (`Number (normal (dyadic f)))
        | v -> Some (`Other v) in
      let keys = Hashtbl.create 8 in
      let key t =
        let parts = List.map (fun name -> part (attribute name t.data)) partition in
        if List.mem None parts then None
        else Some (n_of (match Hashtbl.find_opt keys parts with
          | Some i -> i
          | None -> let i = Hashtbl.length keys in Hashtbl.add keys parts i; i)) in
      let stream = list (event_of number) events in
      (* Each event that is matched has a time, and times never decrease. *)
      let check clock =
        let next before t = let now = clock t in
          (match before with
           | Some earlier when compare_dyadic now earlier < 0 -> refuse "times that decrease"
           | _ -> Some now) in
        ignore (List.fold_left next None (List.filter reads stream)) in
      List.iter check !clocks;
      let is_plain = streams = [] && partition = [] && consume = KeepAll && limit = None in
      { reads; key; body; kept; selects = optional strategy selects; width; consume; limit }, stream, is_plain
  | _ -> assert false

(* Automata answer a formula under SELECT, without further clauses. *)

let selected query = match query.kept with Some l -> Project (l, query.body) | None -> query.body

let strategy_and_body query = match query.selects, selected query with
  | None, Select (s, body) -> Some s, body
  | s, body -> s, body

let is_answered strategy body = regular body && (strategy = None || takes_ends body)

let tecs (query, stream, is_plain) =
  let strategy, body = strategy_and_body query in
  let width = match query.width with
    | None -> None
    | Some (Events n) -> Some n
    | Some _ -> refuse "a window in time" in
  if not (is_plain && is_answered strategy body) then refuse "this query";
  if strategy = None then tecs_answers width stream body else global_answers width strategy stream body

let strategies (query, stream, is_plain) =
  let strategy, body = strategy_and_body query in
  if not (is_plain && query.width = None && takes_ends body && is_answered strategy body) then refuse "this query";
  strategy_answers strategy stream body

(* A certificate of equivalence: complete machines over letters, and a relation between their states. *)

let certificate document =
  match fields [ "format"; "version"; "queries"; "tests"; "letters"; "left"; "right"; "relation" ] document with
  | [ format; version; queries; tests; letters; left; right; relation ] ->
      if text format <> "cerlab-certificate" then refuse "another format";
      if version <> Whole 1 then refuse "another version";
      if List.length (list text queries) <> 2 then refuse "no two queries";
      let tests = List.length (list text tests) in
      let vectors = list (list truth) letters in
      if List.exists (fun vector -> List.length vector <> tests) vectors then refuse "a letter with another number of tests";
      let letters = List.length vectors in
      let below limit = function
        | Whole i when 0 <= i && i < limit -> i
        | _ -> refuse "no number of a state where one has to be" in
      let machine j = match fields [ "next"; "accepts" ] j with
        | [ next; accepts ] ->
            let accepts = Array.of_list (list truth accepts) in
            let states = Array.length accepts in
            let row j =
              let row = Array.of_list (list (fun j -> Array.of_list (list (below states) j)) j) in
              if Array.length row <> letters || Array.exists (fun targets -> Array.length targets <> 3) row then
                refuse "a state with another number of moves";
              row in
            let next = Array.of_list (list row next) in
            if states = 0 || Array.length next <> states then refuse "another number of states";
            let column = function None -> 0 | Some Take -> 1 | Some Skip -> 2 in
            states, { next_state = (fun q a m -> next.(q).(a).(column m)); accepting = (fun q -> accepts.(q)) }
        | _ -> assert false in
      let of_left, left = machine left in
      let of_right, right = machine right in
      let pair j = match j with
        | Array [ p; q ] -> below of_left p, below of_right q
        | _ -> refuse "no pair of states where one has to be" in
      is_bisimulation letters left right (list pair relation)
  | _ -> assert false

let answer_text ((start, stop), positions) =
  Printf.sprintf {|{"start": %d, "end": %d, "positions": [%s]}|} start stop
    (String.concat ", " (List.map string_of_int positions))

(* 16 M words are 128 MB; lists of valuations grow exponentially. *)
let most_words = 16_000_000
let is_working = ref false
let is_full () = (Gc.quick_stat ()).Gc.heap_words > most_words

let answers_text evaluator document =
  Printf.sprintf {|{"answers": [%s]}|} (String.concat ", " (List.map answer_text (evaluator (question document))))

let answered = match Sys.argv with
  | [| _; "tecs" |] -> answers_text tecs
  | [| _; "strategies" |] -> answers_text strategies
  | [| _; "certificate" |] -> fun document -> Printf.sprintf {|{"accepted": %b}|} (certificate document)
  | _ -> answers_text (fun (query, stream, _) -> query_answers query stream)

let reply line =
  let too_much () = is_working := false; {|{"refused": "it needs too much memory"}|} in
  try
    is_working := true;
    let said = answered (json_of line) in
    is_working := false;
    said
  with
  | Refused why -> is_working := false; Printf.sprintf {|{"refused": %s}|} (json_text why)
  | Stack_overflow | Out_of_memory -> too_much ()

let () =
  ignore (Gc.create_alarm (fun () -> if !is_working && is_full () then raise Out_of_memory));
  try
    while true do
      print_string (reply (input_line stdin));
      print_newline ();
      if is_full () then Gc.compact ()
    done
  with End_of_file -> ()
