(** Strategies in a tECS: Algorithm 1 on the macro-states of the automaton of a strategy, with an initial state
    that moves with the stream (corrects E13). *)

Require Import List Bool Arith NArith.
Import ListNotations.
Require Import Mechanised.Stream Mechanised.Formula Mechanised.Automaton Mechanised.Strategies Mechanised.OpenEvents.
Require Import Mechanised.Evaluate Mechanised.Compile Mechanised.Determinise Mechanised.Tecs Mechanised.Selected.
Require Mechanised.Engine.

Definition mark_dec (m n : mark) : {m = n} + {m <> n}.
Proof. decide equality. Defined.

(** A key is a configuration and the latest mark, or no mark before the run. A run starts by taking, in the
    configuration after skipping all events before. *)
Definition of_machine {D} (M : machine D) (dec : forall c c' : configuration M, {c = c'} + {c <> c'}) : deterministic D :=
  Deterministic D (configuration M * option mark) (fun s => (after M s (repeat Skip (length s)), None))
    (fun t m '(c, before) => match before, m with
      | None, Skip => None
      | _, _ => Some (Determinise.next M t m c, Some m)
      end)
    (fun '(c, latest) => match latest with Some Take => accepts M c | _ => false end)
    (pair_dec dec (option_dec mark_dec)).

Definition configuration_dec {D} (x : option strategy) (A : cea D) (dec : decidable_states A) :
  forall c c' : configuration (machine_of x A dec), {c = c'} + {c <> c'}.
Proof.
  destruct x as [[]|]; cbn [machine_of].
  - exact (pair_dec (option_dec block_dec) (sets_dec A dec)).
  - exact (pair_dec (sets_dec (single_final A) (option_dec dec)) (sets_dec (single_final A) (option_dec dec))).
  - exact (pair_dec (pair_dec (sets_dec A dec) (sets_dec A dec)) (sets_dec A dec)).
  - exact (pair_dec (sets_dec A dec) (sets_dec A dec)).
  - exact (sets_dec A dec).
Defined.

(** What a strategy selects of the complex events of a formula, and then WITHIN n EVENTS if there is an n. *)
Definition global_answers {D} (width : option nat) (x : option strategy) (evs : stream D) (phi : formula D) :
    list complex_event :=
  let A := waiting (marked (compile phi)) in
  let dec := option_dec (Engine.marked_dec phi) in
  let B := of_machine (machine_of x A dec) (configuration_dec x A dec) in
  flat_map (fun j =>
      let lowest := match width with Some n => j - n | None => 0 end in
      map (fun '(i, P) => (i, j, rev P)) (outputs B lowest (rev (firstn (1 + j) evs))))
    (seq 0 (length evs)).
