(** Automata that read events: a VCEA gives each event labels, a CEA a mark (CORE Sec. 3, App. A). *)

Require Import List Bool Arith.
Import ListNotations.
Require Import Mechanised.Stream Mechanised.Formula Mechanised.Semantics.

(** A transition reads an event that satisfies its predicate, and writes a symbol. *)
Definition transition (D Q M : Type) : Type := Q * predicate D * M * Q.

Record automaton (D M : Type) := Automaton {
  state : Type;
  states : list state;
  delta : list (transition D state M);
  initial : state -> bool;
  final : state -> bool }.
Arguments Automaton {D M}. Arguments state {D M}. Arguments states {D M}.
Arguments delta {D M}. Arguments initial {D M}. Arguments final {D M}.

Definition vcea (D : Type) := automaton D labels.
Definition cea (D : Type) := automaton D mark.

(** All states of runs are in the list, so they are finitely many. *)
Definition listed {D M} (A : automaton D M) : Prop :=
  (forall q, initial A q = true -> In q (states A)) /\
  (forall p P m q, In (p, P, m, q) (delta A) -> In q (states A)).

(** Besides, no transition enters an initial state, and none is final. *)
Definition well_formed {D M} (A : automaton D M) : Prop :=
  (forall p, initial A p = true -> In p (states A) /\ final A p = false) /\
  (forall p P m q, In (p, P, m, q) (delta A) ->
     initial A q = false /\ In p (states A) /\ In q (states A)).

Definition step {D M} (A : automaton D M) (t : event D) (m : M) (p q : state A) : Prop :=
  exists P, In (p, P, m, q) (delta A) /\ P t = true.

(** An automaton whose states can be told apart. *)
Definition decidable_states {D M} (A : automaton D M) := forall p q : state A, {p = q} + {p <> q}.

(** A run from position i: one transition for each event that it reads. *)
Inductive path {D M} (A : automaton D M) (evs : stream D) : nat -> state A -> list M -> state A -> Prop :=
| stay i p : path A evs i p [] p
| move i p t m q ms r : nth_error evs i = Some t -> step A t m p q ->
    path A evs (1 + i) q ms r -> path A evs i p (m :: ms) r.

(** An accepting run over an interval, which is never empty; the symbols that it writes. *)
Definition accepted {D M} (A : automaton D M) (evs : stream D) (i : nat) (ms : list M) : Prop :=
  ms <> [] /\ exists p q, initial A p = true /\ final A q = true /\ path A evs i p ms q.

(** The complex event that marks from position i on are. *)
Fixpoint taken_from (i : nat) (ms : list mark) : list nat :=
  match ms with
  | [] => []
  | Take :: ms => i :: taken_from (S i) ms
  | Skip :: ms => taken_from (S i) ms
  end.
Definition of_marks (i : nat) (ms : list mark) : complex_event :=
  (i, i + length ms - 1, taken_from i ms).

(** One run at most for each word (CORE Sec. 3: I/O-deterministic). *)
Definition one_run {D M} (A : automaton D M) : Prop :=
  (forall p q, initial A p = true -> initial A q = true -> p = q) /\
  (forall t m p q r, step A t m p q -> step A t m p r -> q = r).

(** A VCEA has the valuations of a formula on a stream: runs from i on write their rows. *)
Definition has_rows {D} (evs : stream D) (phi : formula D) (A : vcea D) : Prop :=
  forall i Ls, Valuation i Ls |=[evs] phi <-> accepted A evs i Ls.
