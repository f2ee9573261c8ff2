(* The reader of the judge: JSON lines in, JSON lines out, for `cerlab fuzz`.

   A line {"query": CEQL, "events": [{"type": .., ..}, ..]} is answered with {"answers": [..]} or
   {"refused": why}. `judge` evaluates by the semantics; `judge tecs` compiles the formula and runs Algorithm 1
   and 2, for the formulas that a CEA has the answers of; `judge strategies` runs the automaton of a strategy on
   the CEA of what it selects from. All answers are computed by `Proved`, which Coq extracts; what is here (JSON,
   the grammar of CEQL, comparisons of values) is trusted, not proved. *)

open Proved

exception Refused of string

let refuse why = raise (Refused why)

(* Values: as of JSON. Integers are kept to 53 bits, so that floats are exact beside them. *)

type value = Null | Truth of bool | Int of int | Float of float | Text of string

type attributes = { stream : string option; values : (string * value) list }

let limit = 1 lsl 53
let int_value i = if abs i > limit then refuse "integers above 53 bits" else Int i

(* JSON *)

type json = Value of value | Array of json list | Object of (string * json) list

let utf8 buffer code = Buffer.add_utf_8_uchar buffer (Uchar.of_int code)

let json_of text =
  let at = ref 0 in
  let fail () = failwith "no JSON" in
  let peek () = if !at < String.length text then text.[!at] else fail () in
  let rec blank () =
    if !at < String.length text && String.contains " \t\r\n" text.[!at] then (incr at; blank ()) in
  let expect word =
    let n = String.length word in
    if !at + n <= String.length text && String.sub text !at n = word then at := !at + n else fail () in
  let hex () =
    let code = int_of_string ("0x" ^ String.sub text !at 4) in at := !at + 4; code in
  let text_literal () =
    let out = Buffer.create 16 in
    expect "\"";
    while peek () <> '"' do
      let c = peek () in
      incr at;
      if c <> '\\' then Buffer.add_char out c
      else begin
        let c = peek () in
        incr at;
        match c with
        | 'n' -> Buffer.add_char out '\n' | 't' -> Buffer.add_char out '\t'
        | 'r' -> Buffer.add_char out '\r' | 'b' -> Buffer.add_char out '\b'
        | 'f' -> Buffer.add_char out '\012'
        | 'u' ->
            let code = hex () in
            if code >= 0xd800 && code < 0xdc00 then begin
              expect "\\u";
              utf8 out (0x10000 + ((code - 0xd800) lsl 10) + hex () - 0xdc00)
            end else utf8 out code
        | c -> Buffer.add_char out c
      end
    done;
    expect "\"";
    Buffer.contents out in
  let number () =
    let start = !at in
    while !at < String.length text && String.contains "+-.eE0123456789" text.[!at] do incr at done;
    let word = String.sub text start (!at - start) in
    if String.exists (fun c -> c = '.' || c = 'e' || c = 'E') word then Float (float_of_string word)
    else match int_of_string_opt word with Some i -> int_value i | None -> refuse "long integers" in
  let rec items close item =
    blank ();
    if peek () = close then (incr at; [])
    else begin
      let first = item () in
      blank ();
      if peek () = ',' then incr at else if peek () <> close then fail ();
      first :: items close item
    end in
  let rec json () =
    blank ();
    match peek () with
    | '"' -> Value (Text (text_literal ()))
    | '{' -> incr at; Object (items '}' (fun () ->
        blank (); let name = text_literal () in blank (); expect ":"; (name, json ())))
    | '[' -> incr at; Array (items ']' json)
    | 't' -> expect "true"; Value (Truth true)
    | 'f' -> expect "false"; Value (Truth false)
    | 'n' -> expect "null"; Value Null
    | _ -> Value (number ()) in
  json ()

(* Words of CEQL *)

type token = Name of string | Quoted of string | Number of value | String of string | Sign of string | End

let shown = function
  | Name word | Quoted word | String word | Sign word -> word
  | Number _ -> "a number"
  | End -> "the end"

let signs = [ ":+"; "->"; ".."; "<="; ">="; "=="; "!="; "<>" ]
let is_digit c = c >= '0' && c <= '9'
let is_start c = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c = '_'

let tokens text =
  let n = String.length text in
  let rec until test i = if i < n && test text.[i] then until test (i + 1) else i in
  let rec quoted quote i =
    if i >= n then refuse "an open quote"
    else if text.[i] = quote then
      if i + 1 < n && text.[i + 1] = quote then
        let rest, after = quoted quote (i + 2) in (String.make 1 quote ^ rest, after)
      else ("", i + 1)
    else let rest, after = quoted quote (i + 1) in (String.make 1 text.[i] ^ rest, after) in
  let rec all i =
    if i >= n then [ End ]
    else match text.[i] with
    | ' ' | '\n' | '\t' | '\r' -> all (i + 1)
    | '\'' | '"' -> let word, after = quoted text.[i] (i + 1) in String word :: all after
    | '`' -> let word, after = quoted '`' (i + 1) in Quoted word :: all after
    | c when is_start c ->
        let j = until (fun c -> is_start c || is_digit c) i in
        Name (String.sub text i (j - i)) :: all j
    | c when is_digit c || (c = '.' && i + 1 < n && is_digit text.[i + 1]) ->
        let whole = until is_digit i in
        let j = if whole + 1 < n && text.[whole] = '.' && is_digit text.[whole + 1]
          then until is_digit (whole + 1) else whole in
        let k = if j < n && (text.[j] = 'e' || text.[j] = 'E') then
          until is_digit (if j + 1 < n && String.contains "+-" text.[j + 1] then j + 2 else j + 1)
          else j in
        let word = String.sub text i (k - i) in
        let value = if k > whole then Float (float_of_string word)
          else match int_of_string_opt word with
          | Some i -> int_value i | None -> refuse "long integers" in
        Number value :: all k
    | _ when i + 1 < n && List.mem (String.sub text i 2) signs ->
        Sign (String.sub text i 2) :: all (i + 2)
    | c -> Sign (String.make 1 c) :: all (i + 1) in
  Array.of_list (all 0)

(* Values compared and computed: False and no value where they do not compare. *)

let order left right = match left, right with
  | Truth a, Truth b -> Some (compare a b)
  | Text a, Text b -> Some (compare a b)
  | Int a, Int b -> Some (compare a b)
  | (Int _ | Float _), (Int _ | Float _) ->
      let float = function Int i -> float_of_int i | Float f -> f | _ -> nan in
      let a, b = float left, float right in
      if Float.is_nan a || Float.is_nan b then None else Some (compare a b)
  | _ -> None

let holds_between operator left right = match order left right with
  | None -> false
  | Some c -> (match operator with
      | "<" -> c < 0 | "<=" -> c <= 0 | ">" -> c > 0 | ">=" -> c >= 0
      | "=" | "==" -> c = 0 | "!=" | "<>" -> c <> 0
      | _ -> refuse ("the operator " ^ operator))

let compute operator left right =
  let modulo a b =
    let r = Float.rem a b in
    if r = 0. then Float.copy_sign 0. b else if (b < 0.) <> (r < 0.) then r +. b else r in
  let floats a b =
    let result = match operator with
      | "+" -> a +. b | "-" -> a -. b | "*" -> a *. b
      | "/" -> if b = 0. then nan else a /. b
      | _ -> if b = 0. then nan else modulo a b in
    let finite x = Float.is_finite x in
    if Float.is_nan result || (finite a && finite b && not (finite result)) then Null
    else Float result in
  match left, right with
  | Int a, Int b -> (match operator with
      | "+" -> int_value (a + b) | "-" -> int_value (a - b)
      | "*" -> if abs a < 1 lsl 26 && abs b < 1 lsl 26 then Int (a * b) else refuse "long products"
      | "/" -> floats (float_of_int a) (float_of_int b)
      | _ -> if b = 0 then Null else let r = a mod b in Int (if r <> 0 && (r < 0) <> (b < 0) then r + b else r))
  | Int a, Float b -> floats (float_of_int a) b
  | Float a, Int b -> floats a (float_of_int b)
  | Float a, Float b -> floats a b
  | _ -> Null

let attribute name event = Option.value (List.assoc_opt name event.data.values) ~default:Null

(* Names as labels: the types and labels of a question are numbered. *)

let rec positive_of i =
  if i = 1 then XH else if i land 1 = 0 then XO (positive_of (i / 2)) else XI (positive_of (i / 2))
let n_of i = if i = 0 then N0 else Npos (positive_of i)

let numbering () =
  let numbers = Hashtbl.create 8 in
  fun key -> n_of (match Hashtbl.find_opt numbers key with
    | Some i -> i
    | None -> let i = Hashtbl.length numbers in Hashtbl.add numbers key i; i)

(* The grammar of CEQL, by recursive descent. *)

let query_of number text =
  let tokens = tokens text in
  let at = ref 0 in
  let token i = tokens.(min (!at + i) (Array.length tokens - 1)) in
  let is_word i word = match token i with Name name -> String.uppercase_ascii name = word | _ -> false in
  let is_sign i sign = token i = Sign sign in
  let word word = is_word 0 word && (incr at; true) in
  let sign sign = is_sign 0 sign && (incr at; true) in
  let needed word = if not (sign word) then refuse (shown (token 0) ^ " where " ^ word ^ " has to be") in
  let name () = match token 0 with
    | Name name | Quoted name -> incr at; name
    | _ -> refuse (shown (token 0) ^ " where a name has to be") in
  let rec separated item = let first = item () in first :: (if sign "," then separated item else []) in
  let bracketed item =
    needed "["; if sign "]" then [] else (let items = separated item in needed "]"; items) in
  let label () = let x = name () in if is_sign 0 ">" then refuse "labels of a stream" else number x in
  let operator () = match token 0 with
    | Sign ("<" | "<=" | ">" | ">=" | "=" | "==" | "!=" | "<>" as s) -> incr at; s
    | _ -> refuse "no comparison" in
  let rec constant () = match token 0 with
    | Number v -> incr at; v
    | String s -> incr at; Text s
    | _ when word "TRUE" -> Truth true
    | _ when word "FALSE" -> Truth false
    | _ when sign "-" -> (match constant () with
        | Int i -> Int (-i) | Float f -> Float (-.f) | _ -> refuse "a negative text")
    | _ -> refuse "no constant" in
  let rec left_to_right signs operand left =
    match List.find_opt (is_sign 0) signs with
    | None -> left
    | Some s -> incr at; let right = operand () in
        left_to_right signs operand (fun t -> compute s (left t) (right t)) in
  let rec sum () = left_to_right [ "+"; "-" ] product (product ())
  and product () = left_to_right [ "*"; "/"; "%" ] factor (factor ())
  and factor () =
    if sign "-" then let v = factor () in fun t -> compute "-" (Int 0) (v t)
    else if sign "+" then factor ()
    else if sign "(" then let v = sum () in needed ")"; v
    else match token 0 with
    | Name _ when not (is_word 0 "TRUE" || is_word 0 "FALSE") -> attribute (name ())
    | Quoted _ -> attribute (name ())
    | _ -> let v = constant () in fun _ -> v in
  let rec predicate () = let p = conjunction () in
    if word "OR" then either p else p
  and either p = let q = conjunction () in
    let r t = p t || q t in if word "OR" then either r else r
  and conjunction () = let p = negation () in
    if word "AND" then also p else p
  and also p = let q = negation () in
    let r t = p t && q t in if word "AND" then also r else r
  and negation () = if word "NOT" then let p = negation () in fun t -> not (p t) else comparison ()
  and comparison () =
    let start = !at in
    match if is_sign 0 "(" then
        (try let (_ : attributes event -> value) = sum () in None with Refused _ -> at := start; incr at; Some (predicate ()))
      else None with
    | Some p -> needed ")"; p
    | None ->
      at := start;
      let left = sum () in
      let negated = is_word 0 "NOT" && is_word 1 "IN" && word "NOT" in
      if word "IN" then membership left negated
      else if word "LIKE" then refuse "LIKE"
      else let s = operator () in let right = sum () in
        fun t -> holds_between s (left t) (right t)
  and membership left negated =
    if word "RANGE" then begin
      needed "("; let low = sum () in needed ","; let high = sum () in needed ")";
      between left negated (Some low) (Some high)
    end else begin
      needed "{";
      let fixed () = let v = constant () in fun (_ : attributes event) -> v in
      if sign ".." then (let high = fixed () in needed "}"; between left negated None (Some high))
      else begin
        let first = fixed () in
        if sign ".." then
          if sign "}" then between left negated (Some first) None
          else (let high = fixed () in needed "}"; between left negated (Some first) (Some high))
        else begin
          let rest = if sign "," then separated fixed else [] in
          needed "}";
          let compare_all s t = List.map (fun v -> holds_between s (left t) (v t)) (first :: rest) in
          if negated then fun t -> List.for_all Fun.id (compare_all "!=" t)
          else fun t -> List.exists Fun.id (compare_all "=" t)
        end
      end
    end
  and between left negated low high t =
    let side s = function None -> [] | Some bound -> [ holds_between s (left t) (bound t) ] in
    if negated then List.exists Fun.id (side "<" low @ side ">" high)
    else List.for_all Fun.id (side ">=" low @ side "<=" high) in
  (* After FILTER, AND and OR go on with the filter where a filter follows. *)
  let filter_follows () =
    let rec skip i = if is_sign i "(" then skip (i + 1) else i in
    let i = skip 1 in
    match token i with
    | Name _ | Quoted _ -> not (is_word i "PROJECT" || is_word i "RENAME")
        && (is_sign (i + 1) "[" || is_sign (i + 1) ".")
    | _ -> false in
  let rec filter () = let c = filter_and () in
    if is_word 0 "OR" && filter_follows () then (incr at; or_else c) else c
  and or_else c = let d = OrElse (c, filter_and ()) in
    if is_word 0 "OR" && filter_follows () then (incr at; or_else d) else d
  and filter_and () = let c = filter_atom () in
    if is_word 0 "AND" && filter_follows () then (incr at; and_also c) else c
  and and_also c = let d = AndAlso (c, filter_atom ()) in
    if is_word 0 "AND" && filter_follows () then (incr at; and_also d) else d
  and filter_atom () =
    if sign "(" then (let c = filter () in needed ")"; c)
    else begin
      let x = label () in
      if sign "[" then (let p = predicate () in needed "]"; On (x, p))
      else if sign "." then begin
        let a = name () in
        let s = operator () in
        match token 0 with
        | (Name _ | Quoted _) when is_sign 1 "." ->
            let y = label () in
            needed ".";
            let b = name () in
            Compare (x, y, fun t u -> holds_between s (attribute a t) (attribute b u))
        | _ -> let v = constant () in On (x, fun t -> holds_between s (attribute a t) v)
      end
      else refuse "predicates over sets"
    end in
  let labels_of names = List.fold_left (fun l x -> add0 x l) none names in
  let rec atom () =
    if sign "(" then closed Fun.id
    else match token 0 with
    | Name word when is_sign 1 "(" ->
        let body wrap = at := !at + 2; closed wrap in
        (match String.uppercase_ascii word with
         | "NOT" -> body (fun f -> Not f)
         | "STRICT" -> body (fun f -> Select (Strict, f))
         | "NEXT" | "NXT" -> body (fun f -> Select (Nxt, f))
         | "LAST" -> body (fun f -> Select (Last, f))
         | "MAX" -> body (fun f -> Select (Max, f))
         | _ -> refuse word)
    | _ when is_word 0 "PROJECT" && is_sign 1 "[" ->
        incr at; let l = labels_of (bracketed label) in needed "("; closed (fun f -> Project (l, f))
    | _ when is_word 0 "RENAME" && is_sign 1 "[" ->
        at := !at + 2; let x = label () in needed "->"; let y = label () in
        needed "]"; needed "("; closed (fun f -> Rename (x, y, f))
    | _ ->
        let first = name () in
        if not (sign ">") then Atom (number first)
        else
          let kind = number (name ()) in
          let of_stream t = match t.data.stream with None -> true | Some s -> s = first in
          Filter (Atom kind, On (kind, of_stream))
  and closed wrap = let f = formula () in needed ")"; wrap f
  and suffixes f =
    if word "AS" then suffixes (As (f, label ()))
    else if sign "+" then suffixes (Plus f)
    else if sign ":+" then suffixes (ConcatPlus f)
    else f
  and postfix () = suffixes (atom ())
  and seq () = seq_after (postfix ())
  and seq_after f = if sign ";" then seq_after (Seq (f, postfix ())) else f
  and concat () = concat_after (seq ())
  and concat_after f = if sign ":" then concat_after (Concat (f, seq ())) else f
  and choice () = choice_after (concat ())
  and choice_after f =
    if word "OR" then choice_after (Or (f, concat ()))
    else if word "AND" then choice_after (And (f, concat ()))
    else if word "ALL" then choice_after (All (f, concat ()))
    else f
  and formula () = rest (atom ())
  and rest f =
    let f = choice_after (concat_after (seq_after (suffixes f))) in
    if word "UNLESS" then rest (Unless (f, choice ()))
    else if word "FILTER" then rest (Filter (f, filter ()))
    else f in
  let strategy () =
    if is_sign 1 "." || is_sign 1 "," then None
    else if word "STRICT" then Some Strict
    else if word "NEXT" || word "NXT" then Some Nxt
    else if word "LAST" then Some Last
    else if word "MAX" then Some Max
    else (ignore (word "ALL" || word "ANY"); None) in
  let item () = let x = label () in if is_sign 0 "[" then ignore (bracketed name); x in
  let selection () =
    if sign "*" then Fun.id
    else let l = if word "NONE" then none else labels_of (separated item) in
      fun f -> Project (l, f) in
  let real = function Int i -> float_of_int i | Float f -> f | _ -> refuse "no number" in
  let near attribute_name width t u =
    match attribute attribute_name t, attribute attribute_name u with
    | (Int _ | Float _ as a), (Int _ | Float _ as b) -> real b -. real a <= width
    | _ -> refuse "an event without its time" in
  let window () = match token 0 with
    | Number v ->
        incr at;
        (match v, token 0 with
         | Int n, Name _ when word "EVENTS" || word "EVENT" -> fun f -> Within (f, Events n)
         | _ when sign "[" -> let a = name () in needed "]"; fun f -> Within (f, Between (near a (real v)))
         | _ when word "SECONDS" || word "SECOND" -> fun f -> Within (f, Between (near "t" (real v)))
         | _ -> refuse "windows in hours and minutes")
    | _ -> refuse "no window" in
  if not (word "SELECT") then refuse "no SELECT";
  let strategy = strategy () in
  let select = selection () in
  let streams = if word "FROM" then separated name else [] in
  if not (word "WHERE") then refuse "no WHERE";
  let body = formula () in
  let attributes = if word "PARTITION" then
      (if word "BY" then List.concat (separated (fun () -> bracketed name)) else refuse "no BY")
    else [] in
  let within = if word "WITHIN" then window () else Fun.id in
  let consume = if word "CONSUME" then begin
      if not (word "BY") then refuse "no BY";
      if word "ANY" then ConsumeAny
      else if word "PARTITION" then ConsumePartition
      else if word "NONE" then KeepAll
      else refuse "no policy"
    end else KeepAll in
  if token 0 <> End then refuse (shown (token 0) ^ " after the query that is read");
  let chosen = match strategy with None -> select body | Some s -> Select (s, select body) in
  let key_number = numbering () in
  (* Values that compare equal have one key: an integer and the same float. *)
  let part t a = match attribute a t with
    | Null -> None
    | Float f when Float.is_nan f -> None
    | Float f when Float.is_integer f && abs_float f < float_of_int limit -> Some (Int (int_of_float f))
    | v -> Some v in
  let key t =
    let parts = List.map (part t) attributes in
    if List.mem None parts then None else Some (key_number parts) in
  let reads t = streams = [] || match t.data.stream with None -> true | Some s -> List.mem s streams in
  { reads; key; pattern = within chosen; consume }

(* Questions and answers *)

let event_of number = function
  | Object fields ->
      let text name = match List.assoc_opt name fields with
        | Some (Value (Text s)) -> Some s | _ -> None in
      let values = List.filter_map (function
        | (("type" | "stream"), _) -> None
        | name, Value v -> Some (name, v)
        | _ -> refuse "values that are no scalars") fields in
      (match text "type" with
       | Some kind -> { type0 = number kind; data = { stream = text "stream"; values } }
       | None -> refuse "an event without a type")
  | _ -> refuse "an event that is no object"

let answer_text ((start, stop), positions) =
  Printf.sprintf {|{"start": %d, "end": %d, "positions": [%s]}|} start stop
    (String.concat ", " (List.map string_of_int positions))

(* Automata read one substream, and the query has no clause but SELECT. *)
let without_clauses query stream =
  let whole t = query.reads t && query.key t = Some N0 in
  if query.consume <> KeepAll || not (List.for_all whole stream) then refuse "clauses"

let tecs query stream =
  without_clauses query stream;
  if not (regular query.pattern) then refuse "this operator";
  tecs_answers stream query.pattern

let strategies query stream =
  without_clauses query stream;
  let strategy, body = match query.pattern with Select (s, body) -> Some s, body | body -> None, body in
  if not (regular body && takes_ends body) then refuse "this operator";
  strategy_answers strategy stream body

let evaluator = match Sys.argv with
  | [| _; "tecs" |] -> tecs
  | [| _; "strategies" |] -> strategies
  | _ -> query_answers

let reply line =
  match json_of line with
  | Object fields ->
      (match List.assoc_opt "query" fields, List.assoc_opt "events" fields with
       | Some (Value (Text text)), Some (Array events) ->
           (try
              let number = numbering () in
              let query = query_of number text in
              let stream = List.map (event_of number) events in
              let answers = evaluator query stream in
              Printf.sprintf {|{"answers": [%s]}|} (String.concat ", " (List.map answer_text answers))
            with Refused why -> Printf.sprintf {|{"refused": "%s"}|} (String.escaped why))
       | _ -> failwith "no question")
  | _ -> failwith "no question"

let () =
  try
    while true do
      print_string (reply (input_line stdin));
      print_newline ()
    done
  with End_of_file -> ()
