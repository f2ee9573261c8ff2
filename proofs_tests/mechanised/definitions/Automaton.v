(** Automata that read events: a VCEA gives each event labels, a CEA a mark (CORE Sec. 3, App. A). *)

Require Import List Bool Arith.
Import ListNotations.
Require Import Mechanised.Stream.

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

Definition step {D M} (A : automaton D M) (t : event D) (m : M) (p q : state A) : Prop :=
  exists P, In (p, P, m, q) (delta A) /\ P t = true.

(** A run from position i: one transition for each event that it reads. *)
Inductive path {D M} (A : automaton D M) (S : stream D) : nat -> state A -> list M -> state A -> Prop :=
| stay i p : path A S i p [] p
| move i p t m q ms r : nth_error S i = Some t -> step A t m p q ->
    path A S (1 + i) q ms r -> path A S i p (m :: ms) r.

(** An accepting run over an interval, which is never empty; the symbols that it writes. *)
Definition accepted {D M} (A : automaton D M) (S : stream D) (i : nat) (ms : list M) : Prop :=
  ms <> [] /\ exists p q, initial A p = true /\ final A q = true /\ path A S i p ms q.

(** The complex event that marks from position i on are. *)
Fixpoint taken_from (i : nat) (ms : list mark) : list nat :=
  match ms with
  | [] => []
  | Take :: ms => i :: taken_from (S i) ms
  | Skip :: ms => taken_from (S i) ms
  end.
Definition of_marks (i : nat) (ms : list mark) : complex_event :=
  (i, i + length ms - 1, taken_from i ms).
