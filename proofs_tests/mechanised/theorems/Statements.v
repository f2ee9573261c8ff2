(** What is proved, a definition each: [Theorems] has the proofs and says what they assume. *)

Require Import List NArith Arith Permutation.
Require Import Mechanised.Stream Mechanised.Formula Mechanised.Semantics.
Require Import Mechanised.Query Mechanised.OpenEvents Mechanised.Nodes Mechanised.Automaton Mechanised.Strategies
  Mechanised.Printed Mechanised.Machines.
Require Import Mechanised.Evaluate Mechanised.EvaluateQuery Mechanised.Compile Mechanised.Determinise
  Mechanised.Products Mechanised.Tecs Mechanised.Engine Mechanised.Selected Mechanised.GlobalTecs
  Mechanised.Certificate.

(** The evaluator is sound and complete for the table (CORE Table 2, SOCEL Table 1, FOUND Sec. 4). *)
Definition Evaluate_correct : Prop := forall D (evs : stream D) phi V,
  In V (evaluate evs phi) <-> V |=[evs] phi.

(** So are its complex events, and each is there once. *)
Definition Answers_correct : Prop := forall D (evs : stream D) phi C,
  In C (answers evs phi) <-> answer evs phi C.
Definition Answers_once : Prop := forall D (evs : stream D) phi, NoDup (answers evs phi).

(** Events after the end of a valuation do not matter: answers are known when they end. *)
Definition Prefix : Prop := forall D (evs evs' : stream D) phi V, last_position V < length evs ->
  V |=[evs ++ evs'] phi <-> V |=[evs] phi.

(** Counts are formulas: at least 1 + least times, and at most 1 + least + extra times. *)
Definition Count_correct : Prop := forall D (evs : stream D) gap phi least extra V,
  V |=[evs] count gap phi least extra <-> counted evs gap phi (1 + least) (Some (1 + least + extra)) V.
Definition Count_up_correct : Prop := forall D (evs : stream D) gap phi least V,
  V |=[evs] count_up gap phi least <-> counted evs gap phi (1 + least) None V.

(** Whole queries, with all clauses but GROUP BY (CORE Sec. 2.2). *)
Definition Query_correct : Prop := forall D (q : query D) evs C,
  In C (query_answers q evs) <-> query_answer q evs C.
Definition Query_once : Prop := forall D (q : query D) evs, NoDup (query_answers q evs).

(** A VCEA has the valuations of a formula, and linearly many states (CORE Thm. 2, without windows). *)
Definition Compile_correct : Prop := forall D (evs : stream D) phi, regular phi = true ->
  has_rows evs phi (compile phi).
Definition Compile_linear : Prop := forall D (phi : formula D),
  well_formed (compile phi) /\ length (states (compile phi)) <= 2 * size phi.

(** VCEA for AND, ALL and UNLESS (SOCEL Sec. 5.2), and for all formulas without strategies and windows whose filters are
    on one label each. *)
Definition And_correct : Prop := forall D (evs : stream D) phi psi A B,
  has_rows evs phi A -> has_rows evs psi B -> has_rows evs (And phi psi) (same_runs A B).
Definition All_correct : Prop := forall D (evs : stream D) phi psi A B, well_formed A -> well_formed B ->
  has_rows evs phi A -> has_rows evs psi B -> has_rows evs (All phi psi) (overlapping A B).
Definition Unless_correct : Prop := forall D (evs : stream D) phi psi A B dec, well_formed B ->
  has_rows evs phi A -> has_rows evs psi B -> has_rows evs (Unless phi psi) (without A B dec).
Definition Automata_of_formulas : Prop := forall D (phi : formula D), has_vcea phi = true ->
  exists A : vcea D, inhabited (decidable_states A) /\ well_formed A /\ forall evs, has_rows evs phi A.

(** With marks instead of labels it has the complex events, WITHIN n EVENTS those of short runs
    (CORE Thm. 2 and App. A). *)
Definition Marked_correct : Prop := forall D width (evs : stream D) phi C, regular phi = true ->
  answer evs (optional within_events width phi) C <-> exists i ms, accepted (marked (compile phi)) evs i ms /\
    match width with Some n => length ms - 1 <= n | None => True end /\ C = of_marks i ms.

(** <next and <last are total orders of sets of positions (FOUND Lemma 1). *)
Definition Next_total_order : Prop := total_order next_below.
Definition Last_total_order : Prop := total_order last_below.

(** The subset construction outputs the same, by one run for each word (FOUND Prop. 1). *)
Definition Determinised_correct : Prop := forall D (A : cea D) dec, listed A ->
  constructed (output A) (determinised A dec) (2 ^ length (states A)).

(** The CEA of the strategies output what the strategies select, of any CEA (FOUND Thm. 4);
    for NXT the CEA first gets one final state, which is entered by taking. *)
Definition Strict_correct : Prop := forall D (A : cea D) dec, listed A ->
  constructed (selected Strict A) (strict_cea A dec) (4 * 2 ^ length (states A)).
Definition Nxt_correct : Prop := forall D (A : cea D) dec, listed A ->
  constructed (selected Nxt A) (nxt_cea (single_final A) (option_dec dec)) (4 ^ (1 + length (states A))).
Definition Last_correct : Prop := forall D (A : cea D) dec, listed A ->
  constructed (selected Formula.Last A) (last_cea A dec) (8 ^ length (states A)).
Definition Max_correct : Prop := forall D (A : cea D) dec, listed A ->
  constructed (selected Max A) (max_cea A dec) (4 ^ length (states A)).

(** The automaton of a strategy on the CEA of a formula, from the first event on, gives the answers under it;
    of formulas whose answers take their first and last event. *)
Definition Strategy_answers_correct : Prop := forall D (evs : stream D) phi x C,
  regular phi = true -> takes_ends phi = true ->
  In C (strategy_answers x evs phi) <-> answer evs (optional Select x phi) C.

(** Algorithms 1 and 2 on its macro-states give them too, each once: a tECS runs global strategies, if the initial state
    moves with the stream (E13). *)
Definition Global_answers_correct : Prop := forall D (evs : stream D) phi width x C,
  regular phi = true -> takes_ends phi = true ->
  In C (global_answers width x evs phi) <-> answer evs (optional within_events width (optional Select x phi)) C.
Definition Global_answers_once : Prop := forall D (evs : stream D) phi width x, NoDup (global_answers width x evs phi).

(** The printed automata of NXT and LAST do not (E6, E7). *)
Definition Printed_wrong (x : strategy) : Prop := exists (A : cea unit) dec s w, listed A /\
  selected x A s w /\ ~ printed_recognises A dec x s w.
Definition Printed_nxt_wrong : Prop := Printed_wrong Nxt.
Definition Printed_last_wrong : Prop := Printed_wrong Formula.Last.

(** Union of safe nodes, insertion into union-lists (E11) and their merge keep the invariants of a tECS,
    and denote the union (CORE Sec. 4.2). *)
Definition Unite_correct : Prop := forall m n, good m -> good n -> max_start m = max_start n ->
  good (unite m n) /\ max_start (unite m n) = max_start m /\
  Permutation (paths (unite m n)) (paths m ++ paths n).
Definition Insert_correct : Prop := forall n ns, union_list ns -> good n -> max_start n <= head_max ns ->
  union_list (insert n ns) /\ head_max (insert n ns) = head_max ns /\
  Permutation (all_paths (insert n ns)) (paths n ++ all_paths ns).
Definition Merge_correct : Prop := forall ns, union_list ns ->
  good (merge ns) /\ max_start (merge ns) = head_max ns /\ Permutation (paths (merge ns)) (all_paths ns).

(** Algorithm 2 lists the paths that start late enough, each as often as it is there (CORE Thm. 3). *)
Definition Algorithm2_correct : Prop := forall lowest n, time_ordered n ->
  listed_from lowest n = filter (fun '(i, _) => lowest <=? i) (paths n).

(** Algorithm 1 outputs the complex events that end at the latest event, each once (CORE Thm. 4). *)
Definition Algorithm1_correct : Prop := forall D (A : deterministic D) lowest s C,
  In C (outputs A lowest s) <-> lowest <= fst C /\ exists q, OpenEvents.final A q = true /\ open A s C q.
Definition Algorithm1_once : Prop := forall D (A : deterministic D) lowest s, NoDup (outputs A lowest s).

(** Both algorithms on the CEA of a formula list its complex events, also WITHIN n EVENTS, each once
    (CORE Thm. 2 to 4). *)
Definition Tecs_answers_correct : Prop := forall D width (evs : stream D) phi C, regular phi = true ->
  In C (tecs_answers width evs phi) <-> answer evs (optional within_events width phi) C.
Definition Tecs_answers_once : Prop := forall D width (evs : stream D) phi, NoDup (tecs_answers width evs phi).

(** A certificate that is accepted shows that its two machines have the same answers on every word of its letters. *)
Definition Certificate_correct : Prop := forall letters A B R, is_bisimulation letters A B R = true ->
  forall w i ms, (forall a, In a w -> a < letters) -> machine_answer A w i ms <-> machine_answer B w i ms.
