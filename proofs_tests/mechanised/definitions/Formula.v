(** CEL with intervals and labels (CORE Sec. 2.2, SOCEL Sec. 2 and 5, FOUND Sec. 4). *)

Require Import List NArith.
Require Import Mechanised.Stream.

(** A window says whether an interval fits: n EVENTS by positions, time by the two events. *)
Inductive window (D : Type) :=
| Events (n : nat)
| Between (fits : event D -> event D -> bool).

(** The condition of a FILTER. A predicate on events is for all events of its label. *)
Inductive condition (D : Type) :=
| On (X : label) (P : predicate D)
| Compare (X Y : label) (R : event D -> event D -> bool)
| Among (X : label) (P : list (event D) -> bool)
| AndAlso (c d : condition D)
| OrElse (c d : condition D).

Inductive strategy := Strict | Nxt | Last | Max.

Inductive formula (D : Type) :=
| Atom (R : label)
| As (phi : formula D) (X : label)
| Filter (phi : formula D) (c : condition D)
| Or (phi psi : formula D)
| And (phi psi : formula D)
| Seq (phi psi : formula D)
| Concat (phi psi : formula D)
| Plus (phi : formula D)
| ConcatPlus (phi : formula D)
| Project (L : labels) (phi : formula D)
| Rename (X Y : label) (phi : formula D)
| All (phi psi : formula D)
| Unless (phi psi : formula D)
| Not (phi : formula D)
| Select (s : strategy) (phi : formula D)
| Within (phi : formula D) (w : window D).

Arguments Events {D}. Arguments Between {D}.
Arguments On {D}. Arguments Compare {D}. Arguments Among {D}.
Arguments AndAlso {D}. Arguments OrElse {D}.
Arguments Atom {D}. Arguments As {D}. Arguments Filter {D}. Arguments Or {D}.
Arguments And {D}. Arguments Seq {D}. Arguments Concat {D}. Arguments Plus {D}.
Arguments ConcatPlus {D}. Arguments Project {D}. Arguments Rename {D}. Arguments All {D}.
Arguments Unless {D}. Arguments Not {D}. Arguments Select {D}. Arguments Within {D}.
