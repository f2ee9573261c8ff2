(** Complete machines over letters, as in certificates of equivalence: before its start an answer waits, then it marks. *)

Require Import List.
Import ListNotations.
Require Import Mechanised.Stream.

(** States and letters are numbers; state 0 is the first. None is an event before the start of an answer. *)
Record complete_machine := Machine { next_state : nat -> nat -> option mark -> nat; accepting : nat -> bool }.

Definition state_after (A : complete_machine) (w : list (nat * option mark)) : nat :=
  fold_left (fun q '(a, m) => next_state A q a m) w 0.

(** The answer that starts at i and marks all letters from there on. *)
Definition machine_answer (A : complete_machine) (w : list nat) (i : nat) (ms : list mark) : Prop :=
  length w = i + length ms /\ accepting A (state_after A (combine w (repeat None i ++ map Some ms))) = true.
