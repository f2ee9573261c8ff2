(** CEA that read from position 0 (FOUND Sec. 6): words of marks, and which of them a strategy selects. *)

Require Import List Bool.
Import ListNotations.
Require Import Mechanised.Stream Mechanised.Formula Mechanised.Semantics Mechanised.Automaton.

(** A word has a mark for each event, the latest first. *)
Notation word := (list mark) (only parsing).

(** The states that an automaton may be in after the events of a prefix, latest first, with these marks. *)
Inductive reaches {D} (A : cea D) : stream D -> word -> state A -> Prop :=
| at_start q : initial A q = true -> reaches A [] [] q
| at_next s w p t m q : reaches A s w p -> step A t m p q -> reaches A (t :: s) (m :: w) q.

(** A complex event that ends at the latest event: its last mark takes. *)
Definition output {D} (A : cea D) (S : stream D) (w : word) : Prop :=
  exists w' q, w = Take :: w' /\ reaches A S w q /\ final A q = true.

(** The positions that a word takes; k counts from the first event. *)
Definition takes (w : word) (k : nat) : bool :=
  match nth_error (rev w) k with Some Take => true | _ => false end.

(** What a strategy keeps of the complex events that end at the latest event (corrected, E1 and E2). *)
Definition selected {D} (s : strategy) (A : cea D) (S : stream D) (w : word) : Prop :=
  output A S w /\ admissible s (takes w) /\
  forall v, output A S v -> ~ beats s (takes v) (takes w).

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
