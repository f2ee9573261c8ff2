(** Whole queries: SELECT, FROM, WHERE, PARTITION BY, WITHIN, CONSUME BY, LIMIT (CORE Sec. 2.2). *)

Require Import List NArith Arith Bool.
Import ListNotations.
Require Import Mechanised.Stream Mechanised.Formula Mechanised.Semantics.

Inductive policy := KeepAll | ConsumeAny | ConsumePartition.

Record query D := Query {
  reads : event D -> bool;        (* FROM *)
  key : event D -> option N;      (* PARTITION BY: None is in no substream *)
  body : formula D;               (* WHERE *)
  kept : option labels;           (* SELECT: None is SELECT * *)
  selects : option strategy;      (* SELECT STRICT, NEXT, LAST, MAX *)
  width : option (window D);      (* WITHIN *)
  consume : policy;               (* CONSUME BY *)
  limit : option nat }.           (* LIMIT *)
Arguments Query {D}. Arguments reads {D}. Arguments key {D}. Arguments body {D}. Arguments kept {D}.
Arguments selects {D}. Arguments width {D}. Arguments consume {D}. Arguments limit {D}.

(** The clauses of one substream in their order: WHERE, SELECT (projection, then strategy), WITHIN. *)
Definition pattern {D} (q : query D) : formula D :=
  optional (fun w phi => Within phi w) (width q)
    (optional Select (selects q) (optional Project (kept q) (body q))).

Definition end_ (C : complex_event) : nat := snd (fst C).

(** Positions of the events with a key from position [i] on, and these events. *)
Definition substream {D} (q : query D) (evs : stream D) (k : N) (i : nat) : list (nat * event D) :=
  flat_map (fun p => match nth_error evs p with
    | Some t => if reads q t && (i <=? p) &&
        match key q t with Some k' => N.eqb k k' | None => false end
      then [(p, t)] else []
    | None => [] end) (seq 0 (length evs)).

(** A complex event of a substream, in positions of the whole stream. *)
Definition lift (positions : list nat) (C : complex_event) : complex_event :=
  let '(i, j, P) := C in
  (nth i positions 0, nth j positions 0, map (fun p => nth p positions 0) P).

Definition answer_of {D} (q : query D) (evs : stream D) k i (C : complex_event) : Prop :=
  let s := substream q evs k i in
  exists C', answer (map snd s) (pattern q) C' /\ C = lift (map fst s) C'.

(** After an answer, everything before and at its end is forgotten (E14, read as a reset). *)
Inductive consuming (from : nat -> complex_event -> Prop) : nat -> complex_event -> Prop :=
| now i C : from i C -> (forall C', from i C' -> end_ C <= end_ C') -> consuming from i C
| later i C C' : from i C -> (forall C', from i C' -> end_ C <= end_ C') ->
    consuming from (S (end_ C)) C' -> consuming from i C'.

Definition unlimited_answer {D} (q : query D) (evs : stream D) (C : complex_event) : Prop :=
  match consume q with
  | KeepAll => exists k, answer_of q evs k 0 C
  | ConsumePartition => exists k, consuming (answer_of q evs k) 0 C
  | ConsumeAny => consuming (fun i C => exists k, answer_of q evs k i C) 0 C
  end.

(** The order of the answers of one end: by position, the last first, later ones first; then by start. *)
Definition order (C : complex_event) : list nat := let '(i, _, P) := C in rev P ++ [i].
Fixpoint ahead (K L : list nat) : bool :=
  match K, L with
  | [], _ :: _ => true
  | x :: K, y :: L => (y <? x) || (x =? y) && ahead K L
  | _, [] => false
  end.

(** LIMIT n: of each end the first n. So fewer than n answers of its end are ahead of an answer. *)
Definition among_first (n : nat) (all : complex_event -> Prop) (C : complex_event) : Prop :=
  all C /\ forall Cs, NoDup Cs ->
    (forall C', In C' Cs -> all C' /\ end_ C' = end_ C /\ ahead (order C') (order C) = true) ->
    length Cs < n.

Definition query_answer {D} (q : query D) (evs : stream D) : complex_event -> Prop :=
  optional among_first (limit q) (unlimited_answer q evs).
