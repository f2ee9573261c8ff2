(** Clauses around a formula: FROM, PARTITION BY, CONSUME BY (CORE Sec. 2.2).
    SELECT, a strategy and WITHIN are [Project], [Select] and [Within] on the outside of the formula. *)

Require Import List NArith Arith Bool.
Import ListNotations.
Require Import Mechanised.Stream Mechanised.Formula Mechanised.Semantics.

Inductive policy := KeepAll | ConsumeAny | ConsumePartition.

Record query D := Query {
  reads : event D -> bool;        (* FROM *)
  key : event D -> option N;      (* PARTITION BY: None is in no substream *)
  pattern : formula D;
  consume : policy }.
Arguments Query {D}. Arguments reads {D}. Arguments key {D}.
Arguments pattern {D}. Arguments consume {D}.

Definition end_ (C : complex_event) : nat := snd (fst C).

(** Positions of the events with a key from position [i] on, and these events. *)
Definition substream {D} (q : query D) (S : stream D) (k : N) (i : nat) : list (nat * event D) :=
  flat_map (fun p => match nth_error S p with
    | Some t => if reads q t && (i <=? p) &&
        match key q t with Some k' => N.eqb k k' | None => false end
      then [(p, t)] else []
    | None => [] end) (seq 0 (length S)).

(** A complex event of a substream, in positions of the whole stream. *)
Definition lift (positions : list nat) (C : complex_event) : complex_event :=
  let '(i, j, P) := C in
  (nth i positions 0, nth j positions 0, map (fun p => nth p positions 0) P).

Definition answer_of {D} (q : query D) (S : stream D) k i (C : complex_event) : Prop :=
  let s := substream q S k i in
  exists C', answer (map snd s) (pattern q) C' /\ C = lift (map fst s) C'.

(** After an answer, everything before and at its end is forgotten (E14, read as a reset). *)
Inductive consuming (from : nat -> complex_event -> Prop) : nat -> complex_event -> Prop :=
| now i C : from i C -> (forall C', from i C' -> end_ C <= end_ C') -> consuming from i C
| later i C C' : from i C -> (forall C', from i C' -> end_ C <= end_ C') ->
    consuming from (S (end_ C)) C' -> consuming from i C'.

Definition query_answer {D} (q : query D) (S : stream D) (C : complex_event) : Prop :=
  match consume q with
  | KeepAll => exists k, answer_of q S k 0 C
  | ConsumePartition => exists k, consuming (answer_of q S k) 0 C
  | ConsumeAny => consuming (fun i C => exists k, answer_of q S k i C) 0 C
  end.
