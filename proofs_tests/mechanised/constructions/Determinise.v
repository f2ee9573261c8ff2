(** The subset construction, and the automata of the strategies (FOUND Prop. 1 and Thm. 4, corrected: E6, E7). *)

Require Import List Bool.
Import ListNotations.
Require Import Mechanised.Stream Mechanised.Formula Mechanised.Automaton Mechanised.Strategies.

(** A machine that has one run for each word of marks. *)
Record machine (D : Type) := Machine {
  configuration : Type;
  start : configuration;
  next : event D -> mark -> configuration -> configuration;
  accepts : configuration -> bool }.
Arguments Machine {D}. Arguments configuration {D}. Arguments start {D}.
Arguments next {D}. Arguments accepts {D}.

(** Its configuration after a word; whether it accepts the word as a complex event that ends now. *)
Fixpoint after {D} (M : machine D) (s : stream D) (w : word) : configuration M :=
  match s, w with
  | t :: s, m :: w => next M t m (after M s w)
  | _, _ => start M
  end.
Definition recognises {D} (M : machine D) (s : stream D) (w : word) : Prop :=
  length w = length s /\ (exists w', w = Take :: w') /\ accepts M (after M s w) = true.

(** With finitely many configurations it is a CEA. *)
Definition as_cea {D} (M : machine D) (dec : forall c c' : configuration M, {c = c'} + {c <> c'})
    (cs : list (configuration M)) : cea D :=
  Automaton (configuration M) cs
    (flat_map (fun c => flat_map (fun m =>
        map (fun c' => (c, (fun t => if dec (next M t m c) c' then true else false), m, c')) cs)
      [Take; Skip]) cs)
    (fun c => if dec c (start M) then true else false) (accepts M).

Definition same_mark (m n : mark) : bool :=
  match m, n with Take, Take | Skip, Skip => true | _, _ => false end.

(** All sublists, and all pairs. *)
Fixpoint sublists {A} (l : list A) : list (list A) :=
  match l with [] => [[]] | x :: l => map (cons x) (sublists l) ++ sublists l end.
Definition pairs {A B} (l : list A) (l' : list B) : list (A * B) :=
  flat_map (fun a => map (pair a) l') l.
Definition pair_dec {A B} (dec : forall a a' : A, {a = a'} + {a <> a'}) (dec' : forall b b' : B, {b = b'} + {b <> b'}) :
  forall x y : A * B, {x = y} + {x <> y}.
Proof. decide equality. Defined.
Definition option_dec {A} (dec : forall p q : A, {p = q} + {p <> q}) : forall p q : option A, {p = q} + {p <> q}.
Proof. decide equality. Defined.

Section Sets.
  Context {D : Type} (A : cea D) (dec : decidable_states A).

  (** Sets of states: those of [states A] that are in a list, in the order of [states A]. So sets with
      the same members are equal. *)
  Notation set := (list (state A)).
  Definition as_set (U : list (state A)) : set :=
    filter (fun q => if in_dec dec q U then true else false) (states A).
  Definition minus (U V : set) : set := filter (fun q => if in_dec dec q V then false else true) U.
  Definition meets (U : set) : bool := existsb (final A) U.

  (** The states that an event and a mark lead to. *)
  Definition steps (t : event D) (m : mark) (U : set) : set :=
    as_set (flat_map (fun p => flat_map (fun '(p', P, n, q) =>
      if dec p p' then if P t && same_mark m n then [q] else [] else []) (delta A)) U).
  Definition start_set : set := filter (initial A) (states A).

  Definition sets_dec := list_eq_dec dec.

  (** One run for each word: the set of the states of all its runs (FOUND Prop. 1). *)
  Definition determinised_machine : machine D := Machine set start_set steps meets.
  Definition determinised : cea D := as_cea determinised_machine sets_dec (sublists (states A)).

  (** NXT: B are the states of better words, R those of this word that no better word has. *)
  Definition nxt_machine : machine D :=
    Machine (set * set) (start_set, [])
      (fun t m '(R, B) =>
        let better := as_set match m with
          | Take => steps t Take B ++ steps t Skip B
          | Skip => steps t Take B ++ steps t Skip B ++ steps t Take R
          end in
        (minus (steps t m R) better, better))
      (fun '(R, B) => meets R && negb (meets B)).
  Definition nxt_cea : cea D :=
    as_cea nxt_machine (pair_dec sets_dec sets_dec) (pairs (sublists (states A)) (sublists (states A))).

  (** LAST: as NXT, with the states W of worse words, which a later mark may turn into better ones. *)
  Definition last_machine : machine D :=
    Machine (set * set * set) (start_set, [], [])
      (fun t m '(R, B, W) =>
        let better := as_set match m with
          | Take => steps t Take B
          | Skip => steps t Skip B ++ steps t Take B ++ steps t Take R ++ steps t Take W
          end in
        let here := minus (steps t m R) better in
        let worse := match m with
          | Take => steps t Take W ++ steps t Skip W ++ steps t Skip R ++ steps t Skip B
          | Skip => steps t Skip W
          end in
        (here, better, as_set (minus (minus worse better) here)))
      (fun '(R, B, _) => meets R && negb (meets B)).
  Definition last_cea : cea D :=
    as_cea last_machine (pair_dec (pair_dec sets_dec sets_dec) sets_dec)
      (pairs (pairs (sublists (states A)) (sublists (states A))) (sublists (states A))).

  (** MAX: B are the states of words that take strictly more. *)
  Definition max_machine : machine D :=
    Machine (set * set) (start_set, [])
      (fun t m '(R, B) =>
        let better := as_set match m with
          | Take => steps t Take B
          | Skip => steps t Take B ++ steps t Skip B ++ steps t Take R
          end in
        (minus (steps t m R) better, better))
      (fun '(R, B) => meets R && negb (meets B)).
  Definition max_cea : cea D :=
    as_cea max_machine (pair_dec sets_dec sets_dec) (pairs (sublists (states A)) (sublists (states A))).

  (** STRICT: also whether a mark was made, and whether a gap followed it. *)
  Inductive block := Before | Inside | After.
  Definition next_block (b : block) (m : mark) : option block :=
    match b, m with
    | After, Take => None
    | _, Take => Some Inside
    | Before, Skip => Some Before
    | _, Skip => Some After
    end.
  Definition strict_machine : machine D :=
    Machine (option block * set) (Some Before, start_set)
      (fun t m '(b, R) =>
        (match b with Some b => next_block b m | None => None end, steps t m R))
      (fun '(b, R) => match b with Some _ => meets R | None => false end).
  Definition block_dec : forall b c : block, {b = c} + {b <> c}.
  Proof. decide equality. Defined.
  Definition strict_cea : cea D :=
    as_cea strict_machine (pair_dec (option_dec block_dec) sets_dec)
      (pairs [None; Some Before; Some Inside; Some After] (sublists (states A))).
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
