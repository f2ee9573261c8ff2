(** From a formula to the table of Algorithm 1: its CEA, determinised as it is read. *)

Require Import List Bool Arith NArith.
Import ListNotations.
Require Import Mechanised.Stream Mechanised.Formula Mechanised.Automaton Mechanised.OpenEvents.
Require Import Mechanised.Evaluate Mechanised.Compile Mechanised.Determinise Mechanised.Tecs.

(** States of compiled formulas can be told apart. *)
Fixpoint compiled_dec {D} (phi : formula D) : forall p q : state (compile phi), {p = q} + {p <> q}.
Proof.
  destruct phi as [R | phi X | phi c | phi1 phi2 | phi1 phi2 | phi1 phi2 | phi1 phi2 | phi | phi | L phi | X Y phi
    | phi1 phi2 | phi1 phi2 | phi | x phi | phi w]; cbn; try exact bool_dec; try exact (compiled_dec D phi);
    try (intros [] []; left; reflexivity);
    try (intros [p|p] [q|q]; try (right; discriminate);
         [destruct (compiled_dec D phi1 p q) | destruct (compiled_dec D phi2 p q)];
         [left | right | left | right]; congruence);
    intros [p|] [q|]; try (right; discriminate); try (left; reflexivity);
    destruct (compiled_dec D phi p q); [left | right | left | right]; congruence.
Defined.

Definition marked_dec {D} (phi : formula D) : decidable_states (marked (compile phi)).
Proof.
  intros [p|] [q|]; try (right; discriminate); try (left; reflexivity).
  destruct (compiled_dec phi p q); [left | right]; congruence.
Defined.

(** The subset construction on the fly: a set of states, or none. *)
Definition subsets {D} (A : cea D) (dec : decidable_states A) : deterministic D :=
  Deterministic D (list (state A)) (fun _ => start_set A)
    (fun t m U => match steps A dec t m U with [] => None | V => Some V end)
    (meets A) (sets_dec A dec).

Definition tecs_outputs {D} (phi : formula D) : nat -> stream D -> list open_event :=
  outputs (subsets (marked (compile phi)) (marked_dec phi)).

(** The complex events of a whole stream, those that end at each event; under WITHIN n EVENTS if there is an n:
    then Algorithm 2 lists those that start late enough. *)
Definition tecs_answers {D} (width : option nat) (evs : stream D) (phi : formula D) : list complex_event :=
  flat_map (fun j =>
      let lowest := match width with Some n => j - n | None => 0 end in
      map (fun '(i, P) => (i, j, rev P)) (tecs_outputs phi lowest (rev (firstn (1 + j) evs))))
    (seq 0 (length evs)).
