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
Definition output {D} (A : cea D) (evs : stream D) (w : word) : Prop :=
  exists w' q, w = Take :: w' /\ reaches A evs w q /\ final A q = true.

(** The positions that a word takes; k counts from the first event. *)
Definition takes (w : word) (k : nat) : bool :=
  match nth_error (rev w) k with Some Take => true | _ => false end.

(** What a strategy keeps of the complex events that end at the latest event (corrected, E1 and E2). *)
Definition selected {D} (s : strategy) (A : cea D) (evs : stream D) (w : word) : Prop :=
  output A evs w /\ admissible s (takes w) /\
  forall v, output A evs v -> ~ beats s (takes v) (takes w).

(** C1 <next C2 and C1 <last C2 (FOUND Sec. 4), and what a total order is (FOUND Lemma 1). *)
Definition next_below (v w : nat -> bool) : Prop := beats Nxt w v.
Definition last_below (v w : nat -> bool) : Prop := beats Last w v.
Definition total_order (below : (nat -> bool) -> (nat -> bool) -> Prop) : Prop :=
  (forall v, ~ below v v) /\
  (forall u v w, below u v -> below v w -> below u w) /\
  (forall v w : word, length v = length w ->
     below (takes v) (takes w) \/ v = w \/ below (takes w) (takes v)).

(** B has the outputs that [wanted] has, one run for each, and at most n states. *)
Definition constructed {D} (wanted : stream D -> word -> Prop) (B : cea D) (n : nat) : Prop :=
  listed B /\ one_run B /\ length (states B) <= n /\ forall s w, wanted s w <-> output B s w.
