(** A checker of certificates for "equivalent: yes": a bisimulation between two complete machines. *)

Require Import List Bool Arith.
Import ListNotations.
Require Import Mechanised.Stream Mechanised.Machines.

Definition related (R : list (nat * nat)) (p q : nat) : bool :=
  existsb (fun '(p', q') => (p =? p') && (q =? q')) R.

(** The first states are related; related states agree on acceptance, and lead to related states. *)
Definition is_bisimulation (letters : nat) (A B : complete_machine) (R : list (nat * nat)) : bool :=
  related R 0 0 &&
  forallb (fun '(p, q) => eqb (accepting A p) (accepting B q) &&
    forallb (fun a => forallb (fun m => related R (next_state A p a m) (next_state B q a m))
      [None; Some Take; Some Skip]) (seq 0 letters)) R.
