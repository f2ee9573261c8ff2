(** Timed enumerable compact sets, and the algorithms of CORE on them (CORE Sec. 4; insert corrected: E11).
    Nodes are shared in memory; what they denote is the same for trees. *)

Require Import List Arith Bool Permutation.
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

(** The gadgets of CORE Fig. 5, for nodes of equal [max_start]. *)
Definition unite (m n : node) : node :=
  match m, n with
  | Union l1 r1, Union l2 r2 =>
      let older := if max_start r2 <=? max_start r1 then Union r1 r2 else Union r2 r1 in
      Union l1 (Union l2 older)
  | Union _ _, _ => Union n m
  | _, _ => Union m n
  end.

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

Fixpoint insert_rest (n : node) (ns : list node) : list node :=
  match ns with
  | [] => [n]
  | m :: ns => if max_start m =? max_start n then unite m n :: ns
      else if max_start m <? max_start n then n :: m :: ns
      else m :: insert_rest n ns
  end.
Definition insert (n : node) (ns : list node) : list node :=
  match ns with [] => [n] | n0 :: rest => n0 :: insert_rest n rest end.

Fixpoint merge_rest (n : node) (ns : list node) : node :=
  match ns with [] => n | m :: ns => Union n (merge_rest m ns) end.
Definition merge (ns : list node) : node :=
  match ns with [] => Bottom 0 | n :: ns => merge_rest n ns end.

(** Algorithm 2: depth first, the left side first, the right side if a start there is late enough. *)
Fixpoint enumerate (lowest : nat) (n : node) : list open_event :=
  match n with
  | Bottom i => [(i, [])]
  | Output j n => map (fun '(i, P) => (i, j :: P)) (enumerate lowest n)
  | Union l r => enumerate lowest l ++ if lowest <=? max_start r then enumerate lowest r else []
  end.
Definition listed_from (lowest : nat) (n : node) : list open_event :=
  if lowest <=? max_start n then enumerate lowest n else [].

(** Algorithm 1: active states with their union-lists, in the order in which they became active. *)
Section Algorithm1.
  Context {D : Type} (A : deterministic D).
  Definition table := list (key A * list node).

  (** [Add]: the first to reach q hands its list over, the others insert their node. *)
  Fixpoint add (q : key A) (n : node) (ns : list node) (T : table) : table :=
    match T with
    | [] => [(q, ns)]
    | (p, ms) :: T => if key_dec A p q then (p, insert n ms) :: T else (p, ms) :: add q n ns T
    end.

  (** [ExecTrans]: the transition that takes first, then the other. *)
  Definition execute (t : event D) (j : nat) (T : table) (job : key A * list node) : table :=
    let '(p, ns) := job in
    let n := merge ns in
    let T := match next A t Take p with Some q => add q (Output j n) [Output j n] T | None => T end in
    match next A t Skip p with Some q => add q n ns T | None => T end.

  (** The initial state on a fresh node, then the active states in their order. *)
  Definition advance (t : event D) (j : nat) (T : table) : table :=
    fold_left (execute t j) ((q0 A, [Bottom j]) :: T) [].
  Fixpoint table_of (s : stream D) : table :=
    match s with [] => [] | t :: s => advance t (length s) (table_of s) end.

  (** [Output]: the complex events that end at the latest event and do not start too early. *)
  Definition outputs (lowest : nat) (s : stream D) : list open_event :=
    flat_map (fun '(q, ns) => if final A q then listed_from lowest (merge ns) else []) (table_of s).
End Algorithm1.
