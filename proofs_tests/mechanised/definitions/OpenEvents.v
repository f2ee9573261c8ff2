(** I/O-deterministic CEA that start anywhere, and their open complex events (CORE Sec. 4).
    The state in which a run starts may depend on the events before it: then a run can know which other
    complex events compete with its own (E13). *)

Require Import List.
Import ListNotations.
Require Import Mechanised.Stream.

(** One successor at most for each event and mark. *)
Record deterministic (D : Type) := Deterministic {
  key : Type;
  q0 : list (event D) -> key;   (* of the events before, the latest first *)
  next : event D -> mark -> key -> option key;
  final : key -> bool;
  key_dec : forall p q : key, {p = q} + {p <> q} }.
Arguments key {D}. Arguments q0 {D}. Arguments next {D}. Arguments final {D}. Arguments key_dec {D}.

(** A start, and the positions that are taken, the latest first. *)
Notation open_event := (nat * list nat)%type.

Definition take_at (m : mark) (j : nat) (P : list nat) : list nat :=
  match m with Take => j :: P | Skip => P end.

(** The open complex events of a prefix, whose latest event is the first of the list, with their states. *)
Inductive open {D} (A : deterministic D) : stream D -> open_event -> key A -> Prop :=
| begins s t m q : next A t m (q0 A s) = Some q ->
    open A (t :: s) (length s, take_at m (length s) []) q
| goes_on s t m i P p q : open A s (i, P) p -> next A t m p = Some q ->
    open A (t :: s) (i, take_at m (length s) P) q.
