(** Timed enumerable compact sets, and the algorithms of CORE on them (CORE Sec. 4; insert corrected: E11). *)

Require Import List Arith Bool Permutation.
Import ListNotations.
Require Import Mechanised.Stream Mechanised.OpenEvents Mechanised.Nodes.

(** The gadgets of CORE Fig. 5, for nodes of equal [max_start]. *)
Definition unite (m n : node) : node :=
  match m, n with
  | Union l1 r1, Union l2 r2 =>
      let older := if max_start r2 <=? max_start r1 then Union r1 r2 else Union r2 r1 in
      Union l1 (Union l2 older)
  | Union _ _, _ => Union n m
  | _, _ => Union m n
  end.

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
  Definition advance (t : event D) (j : nat) (q : key A) (T : table) : table :=
    fold_left (execute t j) ((q, [Bottom j]) :: T) [].
  Fixpoint table_of (s : stream D) : table :=
    match s with [] => [] | t :: s => advance t (length s) (q0 A s) (table_of s) end.

  (** [Output]: the complex events that end at the latest event and do not start too early. *)
  Definition outputs (lowest : nat) (s : stream D) : list open_event :=
    flat_map (fun '(q, ns) => if final A q then listed_from lowest (merge ns) else []) (table_of s).
End Algorithm1.
