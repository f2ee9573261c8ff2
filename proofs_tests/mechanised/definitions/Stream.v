(** Events, streams, sets of labels, valuations and complex events
    (CORE Sec. 2.2, SOCEL Sec. 2). *)

Require Import List NArith Arith Bool.
Import ListNotations.

(** Labels are numbers; the type of an event is a label too. *)
Notation label := N (only parsing).

(** A finite set of labels: bit X of the number says whether X is in it.
    So two sets with the same members are equal. *)
Definition labels := N.
Definition none : labels := 0%N.
Definition only (X : label) : labels := N.setbit 0 X.
Definition has (X : label) (L : labels) : bool := N.testbit L X.
Definition both (L1 L2 : labels) : labels := N.lor L1 L2.
Definition common (L1 L2 : labels) : labels := N.land L1 L2.
Definition add (X : label) (L : labels) : labels := N.setbit L X.
Definition is_none (L : labels) : bool := N.eqb L none.

(** A position is taken, or passed over. *)
Inductive mark := Take | Skip.

(** An event has a type and data, of which predicates alone know anything. *)
Record event (D : Type) := Event { type : label; data : D }.
Arguments Event {D}. Arguments type {D}. Arguments data {D}.

Notation stream D := (list (event D)).
Notation predicate D := (event D -> bool).

(** A valuation: an interval, and for each of its positions the labels that it has.
    The paper has a set V(X) of positions for each label X: see [at_label]. *)
Record valuation := Valuation { first : nat; row : list labels }.

(** The position after the interval, and its last position. *)
Definition stop (V : valuation) : nat := first V + length (row V).
Definition last_position (V : valuation) : nat := stop V - 1.

(** The labels of position i; none outside the interval. *)
Definition at_position (V : valuation) (i : nat) : labels :=
  if first V <=? i then nth (i - first V) (row V) none else none.

(** i is in V(X). *)
Definition at_label (V : valuation) (X : label) (i : nat) : bool := has X (at_position V i).

(** i is in the union of all V(X). *)
Definition taken (V : valuation) (i : nat) : bool := negb (is_none (at_position V i)).

(** The positions that satisfy a test, in order; those of a label; all. *)
Definition where_ (V : valuation) (test : nat -> bool) : list nat :=
  filter test (seq (first V) (length (row V))).
Definition positions (V : valuation) : list nat := where_ V (taken V).

(** Pointwise union, from the earlier start to the later end. *)
Definition union (V W : valuation) : valuation :=
  let start := Nat.min (first V) (first W) in
  Valuation start
    (map (fun i => both (at_position V i) (at_position W i))
         (seq start (Nat.max (stop V) (stop W) - start))).

(** The labels of each position changed. *)
Definition relabel (f : labels -> labels) (V : valuation) : valuation :=
  Valuation (first V) (map f (row V)).

(** A complex event ([i, j], D) and that of a valuation. *)
Definition complex_event := (nat * nat * list nat)%type.
Definition complex (V : valuation) : complex_event := (first V, last_position V, positions V).
