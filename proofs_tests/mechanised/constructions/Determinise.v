(** The subset construction, and the automata of the strategies (FOUND Prop. 1 and Thm. 4, corrected: E6, E7). *)

Require Import List Bool.
Import ListNotations.
Require Import Mechanised.Stream Mechanised.Formula Mechanised.Automaton Mechanised.Strategies.

(** An automaton whose states can be told apart. *)
Definition decidable_states {D M} (A : automaton D M) := forall p q : state A, {p = q} + {p <> q}.

Definition same_mark (m n : mark) : bool :=
  match m, n with Take, Take | Skip, Skip => true | _, _ => false end.

Section Sets.
  Context {D : Type} (A : cea D) (dec : decidable_states A).

  (** Sets of states, as lists. *)
  Notation set := (list (state A)).
  Definition minus (U V : set) : set := filter (fun q => if in_dec dec q V then false else true) U.
  Definition meets (U : set) : bool := existsb (final A) U.

  (** The states that an event and a mark lead to. *)
  Definition steps (t : event D) (m : mark) (U : set) : set :=
    nodup dec (flat_map (fun p => flat_map (fun '(p', P, n, q) =>
      if dec p p' then if P t && same_mark m n then [q] else [] else []) (delta A)) U).
  Definition start_set : set := filter (initial A) (states A).

  (** One run for each word: the set of the states of all its runs (FOUND Prop. 1). *)
  Definition determinised : machine D := Machine set start_set steps meets.

  (** NXT: B are the states of better words, R those of this word that no better word has. *)
  Definition nxt : machine D :=
    Machine (set * set) (start_set, [])
      (fun t m '(R, B) =>
        let better := match m with
          | Take => steps t Take B ++ steps t Skip B
          | Skip => steps t Take B ++ steps t Skip B ++ steps t Take R
          end in
        (minus (steps t m R) better, better))
      (fun '(R, B) => meets R && negb (meets B)).

  (** LAST: as NXT, with the states W of worse words, which a later mark may turn into better ones. *)
  Definition last : machine D :=
    Machine (set * set * set) (start_set, [], [])
      (fun t m '(R, B, W) =>
        let better := match m with
          | Take => steps t Take B
          | Skip => steps t Skip B ++ steps t Take B ++ steps t Take R ++ steps t Take W
          end in
        let here := minus (steps t m R) better in
        let worse := match m with
          | Take => steps t Take W ++ steps t Skip W ++ steps t Skip R ++ steps t Skip B
          | Skip => steps t Skip W
          end in
        (here, better, minus (minus worse better) here))
      (fun '(R, B, _) => meets R && negb (meets B)).

  (** MAX: B are the states of words that take strictly more. *)
  Definition max : machine D :=
    Machine (set * set) (start_set, [])
      (fun t m '(R, B) =>
        let better := match m with
          | Take => steps t Take B
          | Skip => steps t Take B ++ steps t Skip B ++ steps t Take R
          end in
        (minus (steps t m R) better, better))
      (fun '(R, B) => meets R && negb (meets B)).

  (** STRICT: also whether a mark was made, and whether a gap followed it. *)
  Inductive block := Before | Inside | After.
  Definition next_block (b : block) (m : mark) : option block :=
    match b, m with
    | After, Take => None
    | _, Take => Some Inside
    | Before, Skip => Some Before
    | _, Skip => Some After
    end.
  Definition strict : machine D :=
    Machine (option block * set) (Some Before, start_set)
      (fun t m '(b, R) =>
        (match b with Some b => next_block b m | None => None end, steps t m R))
      (fun '(b, R) => match b with Some _ => meets R | None => false end).
End Sets.

(** Before NXT: final states are entered by taking transitions only (E6). *)
Definition ends_by_taking {D} (A : cea D) : Prop :=
  forall p P m q, In (p, P, m, q) (delta A) -> final A q = true -> m = Take.
Definition single_final {D} (A : cea D) : cea D :=
  Automaton (option (state A)) (None :: map Some (states A))
    (map (fun '(p, P, m, q) => (Some p, P, m, Some q)) (delta A)
      ++ flat_map (fun '(p, P, m, q) =>
           if same_mark m Take && final A q then [(Some p, P, m, None)] else []) (delta A))
    (fun p => match p with Some p => initial A p | None => false end)
    (fun p => match p with Some _ => false | None => true end).

Definition single_final_dec {D} (A : cea D) (dec : decidable_states A) : decidable_states (single_final A).
Proof. intros [p|] [q|]; try (right; discriminate); [destruct (dec p q); [left | right] | left]; congruence. Defined.

(** NXT and LAST as printed (FOUND App. C.3.2 and C.3.3): a run knows an ordered partition of all states
    that are reached, the best first. It may enter a state unless a better class enters it. *)
Section Printed.
  Context {D : Type} (A : cea D) (dec : decidable_states A) (s : strategy).
  Notation set := (list (state A)).

  Fixpoint disjoint (seen : set) (Us : list set) : list set :=
    match Us with
    | [] => []
    | U :: Us => minus A dec U seen :: disjoint (seen ++ U) Us
    end.
  Fixpoint classes (ts : stream D) : list set :=
    match ts with
    | [] => [start_set A]
    | t :: ts => disjoint [] (match s with
        | Last => map (steps A dec t Take) (classes ts) ++ map (steps A dec t Skip) (classes ts)
        | _ => flat_map (fun U => [steps A dec t Take U; steps A dec t Skip U]) (classes ts)
        end)
    end.

  (** The states of the classes before that of p, and those of its own. *)
  Fixpoint up_to (Us : list set) (p : state A) : set * set :=
    match Us with
    | [] => ([], [])
    | U :: Us => if in_dec dec p U then ([], U)
        else let '(earlier, own) := up_to Us p in (U ++ earlier, own)
    end.
  Definition blocked (Us : list set) t m (p q : state A) : bool :=
    let '(earlier, own) := up_to Us p in
    let entered := steps A dec t Take earlier ++ steps A dec t Skip earlier ++
      match m with Skip => steps A dec t Take own | Take => [] end in
    if in_dec dec q entered then true else false.
  Fixpoint printed_runs (ts : stream D) (w : list mark) : set :=
    match ts, w with
    | t :: ts, m :: w => flat_map (fun p =>
        filter (fun q => negb (blocked (classes ts) t m p q)) (steps A dec t m [p])) (printed_runs ts w)
    | _, _ => start_set A
    end.
  Definition printed_recognises (ts : stream D) (w : list mark) : Prop :=
    length w = length ts /\ (exists w', w = Take :: w') /\
    existsb (fun p => final A p && negb (meets A (fst (up_to (classes ts) p)))) (printed_runs ts w) = true.
End Printed.
