(** Nodes of timed enumerable compact sets, and their invariants (CORE Sec. 4.1 and 4.2).
    Nodes are shared in memory; what they denote is the same for trees. *)

Require Import List Arith Bool.
Import ListNotations.
Require Import Mechanised.Stream Mechanised.OpenEvents.

Inductive node :=
| Bottom (i : nat)
| Output (j : nat) (n : node)
| Union (l r : node).

(** The open complex events of a node: one for each full path. *)
Fixpoint paths (n : node) : list open_event :=
  match n with
  | Bottom i => [(i, [])]
  | Output j n => map (fun '(i, P) => (i, j :: P)) (paths n)
  | Union l r => paths l ++ paths r
  end.

(** The largest start below a node, if it is time-ordered. *)
Fixpoint max_start (n : node) : nat :=
  match n with Bottom i => i | Output _ n => max_start n | Union l _ => max_start l end.
Fixpoint time_ordered (n : node) : Prop :=
  match n with
  | Bottom _ => True
  | Output _ n => time_ordered n
  | Union l r => max_start r <= max_start l /\ time_ordered l /\ time_ordered r
  end.

(** Unions in a row on left edges: never more than three. *)
Fixpoint odepth (n : node) : nat := match n with Union l _ => S (odepth l) | _ => 0 end.
Fixpoint bounded (n : node) : Prop :=
  match n with
  | Bottom _ => True
  | Output _ n => bounded n
  | Union l r => S (odepth l) <= 3 /\ bounded l /\ bounded r
  end.
Definition is_union (n : node) : bool := match n with Union _ _ => true | _ => false end.
Definition safe (n : node) : Prop :=
  match n with Union l r => odepth l = 0 /\ odepth r <= 2 | _ => True end.
Definition good (n : node) : Prop := time_ordered n /\ bounded n /\ safe n.

(** Union-lists: a node that is no union and has the largest start, then decreasing starts. *)
Fixpoint decreasing (ns : list node) : Prop :=
  match ns with
  | m :: (n :: _) as rest => max_start n < max_start m /\ decreasing rest
  | _ => True
  end.
Definition union_list (ns : list node) : Prop :=
  match ns with
  | [] => False
  | n0 :: rest => is_union n0 = false /\ Forall good ns /\ decreasing rest /\
      Forall (fun n => max_start n <= max_start n0) rest
  end.
Definition head_max (ns : list node) : nat := match ns with n :: _ => max_start n | [] => 0 end.
Definition all_paths (ns : list node) : list open_event := flat_map paths ns.
