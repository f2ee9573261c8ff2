(** CEL with intervals and labels (CORE Sec. 2.2, SOCEL Sec. 2 and 5, FOUND Sec. 4). *)

Require Import List NArith.
Require Import Mechanised.Stream.

(** A window says whether an interval fits: n EVENTS by positions, time by the two events. *)
Inductive window (D : Type) :=
| Events (n : nat)
| Between (fits : event D -> event D -> bool).

(** A relation between sets of events, in the order of the stream (SOCEL Sec. 2).
    [Every P] is the universal extension of a relation between events (SOCEL Sec. 4). *)
Inductive relation (D : Type) :=
| Every (P : list (event D) -> bool)
| Sets (P : list (list (event D)) -> bool).

(** The condition of a FILTER: P(X1, .., Xk), AND and OR. *)
Inductive condition (D : Type) :=
| Relates (P : relation D) (Xs : list label)
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
Arguments Every {D}. Arguments Sets {D}. Arguments Relates {D}.
Arguments AndAlso {D}. Arguments OrElse {D}.
Arguments Atom {D}. Arguments As {D}. Arguments Filter {D}. Arguments Or {D}.
Arguments And {D}. Arguments Seq {D}. Arguments Concat {D}. Arguments Plus {D}.
Arguments ConcatPlus {D}. Arguments Project {D}. Arguments Rename {D}. Arguments All {D}.
Arguments Unless {D}. Arguments Not {D}. Arguments Select {D}. Arguments Within {D}.

(** A clause that may be absent. *)
Definition optional {A B} (f : A -> B -> B) (x : option A) (y : B) : B :=
  match x with Some a => f a y | None => y end.
Definition within_events {D} (n : nat) (phi : formula D) : formula D := Within phi (Events n).

(** The number of operators and atoms. *)
Fixpoint size {D} (phi : formula D) : nat :=
  match phi with
  | Atom _ | Not _ => 1
  | As phi _ | Plus phi | ConcatPlus phi | Project _ phi | Rename _ _ phi | Filter phi _
  | Select _ phi | Within phi _ => 1 + size phi
  | Or phi psi | Seq phi psi | Concat phi psi | And phi psi | All phi psi | Unless phi psi =>
      1 + size phi + size psi
  end.
