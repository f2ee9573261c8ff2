(** The clauses around a formula, by lists. *)

Require Import List NArith Arith Bool.
Import ListNotations.
Require Import Mechanised.Stream Mechanised.Formula Mechanised.Evaluate Mechanised.Query.

Definition answers_of {D} (q : query D) (evs : stream D) k i : list complex_event :=
  let s := substream q evs k i in map (lift (map fst s)) (answers (map snd s) (pattern q)).

Definition keys {D} (q : query D) (evs : stream D) : list N :=
  nodup N.eq_dec (flat_map (fun t => match key q t with Some k => [k] | None => [] end) evs).

Definition first_end (Cs : list complex_event) (n : nat) : nat :=
  fold_right (fun C m => Nat.min (end_ C) m) n Cs.

(** Each round ends later, so [n], the length of the stream, are enough. *)
Fixpoint consumed (from : nat -> list complex_event) (rounds n i : nat) : list complex_event :=
  match rounds with
  | 0 => []
  | S rounds => match from i with
    | [] => []
    | Cs => let j := first_end Cs n in
      filter (fun C => end_ C =? j) Cs ++ consumed from rounds n (S j)
    end
  end.

Definition unlimited_answers {D} (q : query D) (evs : stream D) : list complex_event :=
  let n := length evs in
  nodup complex_event_dec
    match consume q with
    | KeepAll => flat_map (fun k => answers_of q evs k 0) (keys q evs)
    | ConsumePartition => flat_map (fun k => consumed (answers_of q evs k) n n 0) (keys q evs)
    | ConsumeAny =>
        consumed (fun i => flat_map (fun k => answers_of q evs k i) (keys q evs)) n n 0
    end.

Definition first_ones (n : nat) (Cs : list complex_event) : list complex_event :=
  filter (fun C => length (filter (fun C' => (end_ C' =? end_ C) && ahead (order C') (order C)) Cs) <? n) Cs.

Definition query_answers {D} (q : query D) (evs : stream D) : list complex_event :=
  optional first_ones (limit q) (unlimited_answers q evs).
