(** An evaluator of finite streams: the table of the semantics, with lists. *)

Require Import List NArith Arith Bool Mergesort Orders.
Import ListNotations.
Require Import Mechanised.Stream Mechanised.Formula Mechanised.Semantics.

Definition valuation_dec (V W : valuation) : {V = W} + {V <> W}.
Proof. repeat decide equality. Defined.

Definition complex_event_dec (C C' : complex_event) : {C = C'} + {C <> C'}.
Proof. repeat decide equality. Defined.

Definition is_before (V W : valuation) : bool := stop V <=? first W.
Definition is_adjacent (V W : valuation) : bool := stop V =? first W.
Definition is_inside (W V : valuation) : bool := (first V <=? first W) && (stop W <=? stop V).

(** Valuations in the order of starts, then of the labels of each position. *)
Fixpoint row_first (L M : list labels) : bool :=
  match L, M with
  | [], _ => true
  | _, [] => false
  | X :: L, Y :: M =>
      match N.compare X Y with Lt => true | Gt => false | Eq => row_first L M end
  end.

Module ByStart <: TotalLeBool.
  Definition t := valuation.
  Definition leb (V W : valuation) : bool :=
    match Nat.compare (first V) (first W) with
    | Lt => true | Gt => false | Eq => row_first (row V) (row W) end.
  Lemma row_total L : forall M, row_first L M = true \/ row_first M L = true.
  Proof.
    induction L as [|X L IH]; intros [|Y M]; cbn; auto.
    rewrite (N.compare_antisym X Y). destruct (N.compare X Y); cbn; auto.
  Qed.
  Theorem leb_total V W : leb V W = true \/ leb W V = true.
  Proof.
    unfold leb. rewrite (Nat.compare_antisym (first V) (first W)).
    destruct (Nat.compare (first V) (first W)); cbn; auto using row_total.
  Qed.
End ByStart.
Module Import Sorted := Sort ByStart.

(** Each once: in order, equal ones are neighbours. *)
Fixpoint apart (Vs : list valuation) : list valuation :=
  match Vs with
  | V :: ((W :: _) as rest) => if valuation_dec V W then apart rest else V :: apart rest
  | _ => Vs
  end.
Definition once (Vs : list valuation) : list valuation := apart (sort Vs).

(** All unions of one of [Vs] with one of [Ws] that it precedes. *)
Definition product (precedes : valuation -> valuation -> bool) (Vs Ws : list valuation) :=
  once (flat_map (fun V => map (union V) (filter (precedes V) Ws)) Vs).

(** At most n further iterations. *)
Fixpoint iterate (precedes : valuation -> valuation -> bool) (n : nat) (once : list valuation) :=
  match n with
  | 0 => once
  | S n => once ++ product precedes once (iterate precedes n once)
  end.

(** Positions of a stream, and tests of all and some of them. *)
Definition all_positions {A} (evs : list A) (test : nat -> bool) := forallb test (seq 0 (length evs)).
Definition some_position {A} (evs : list A) (test : nat -> bool) := existsb test (seq 0 (length evs)).

(** One member of each set, in all ways. *)
Fixpoint choices {A} (sets : list (list A)) : list (list A) :=
  match sets with
  | [] => [[]]
  | set :: sets => flat_map (fun x => map (cons x) (choices sets)) set
  end.

Fixpoint holds_b {D} (evs : stream D) (V : valuation) (c : condition D) : bool :=
  match c with
  | Relates (Every P) Xs => forallb P (choices (map (events_at evs V) Xs))
  | Relates (Sets P) Xs => P (map (events_at evs V) Xs)
  | AndAlso c d => holds_b evs V c && holds_b evs V d
  | OrElse c d => holds_b evs V c || holds_b evs V d
  end.

Definition upto (k : nat) (test : nat -> bool) := forallb test (seq 0 k).

Definition beats_b {D} (evs : stream D) (s : strategy) (w v : nat -> bool) : bool :=
  let better k := w k && negb (v k) in
  match s with
  | Strict => false
  | Nxt => some_position evs (fun k => better k && upto k (fun l => eqb (w l) (v l)))
  | Last => some_position evs (fun k => better k &&
      all_positions evs (fun l => implb (k <? l) (eqb (w l) (v l))))
  | Max => all_positions evs (fun k => implb (v k) (w k)) && some_position evs better
  end.

Definition admissible_b {D} (evs : stream D) (s : strategy) (v : nat -> bool) : bool :=
  match s with
  | Strict => all_positions evs (fun k => implb (v k) (upto k (fun j => implb (negb (v j))
      (upto j (fun i => negb (v i))))))
  | _ => true
  end.

Definition fits_b {D} (evs : stream D) (w : window D) (V : valuation) : bool :=
  match w with
  | Events n => last_position V - first V <=? n
  | Between near =>
      match nth_error evs (first V), nth_error evs (last_position V) with
      | Some t, Some u => near t u
      | _, _ => false
      end
  end.

Definition empty {A} (l : list A) : bool := match l with [] => true | _ => false end.

(** One valuation for each event that passes a test. *)
Definition at_events {D} (evs : stream D) (test : predicate D) (L : labels) : list valuation :=
  flat_map (fun i => match nth_error evs i with
    | Some t => if test t then [Valuation i [L]] else []
    | None => [] end) (seq 0 (length evs)).

Fixpoint evaluate {D} (evs : stream D) (phi : formula D) {struct phi} : list valuation :=
  match phi with
  | Atom R => at_events evs (fun t => N.eqb (type t) R) (only R)
  | As phi X => once (map (relabel (name X)) (evaluate evs phi))
  | Filter phi c => filter (fun V => holds_b evs V c) (evaluate evs phi)
  | Or phi psi => once (evaluate evs phi ++ evaluate evs psi)
  | And phi psi => let Ws := evaluate evs psi in
      filter (fun V => if in_dec valuation_dec V Ws then true else false) (evaluate evs phi)
  | Seq phi psi => product is_before (evaluate evs phi) (evaluate evs psi)
  | Concat phi psi => product is_adjacent (evaluate evs phi) (evaluate evs psi)
  | Plus phi => once (iterate is_before (length evs) (evaluate evs phi))
  | ConcatPlus phi => once (iterate is_adjacent (length evs) (evaluate evs phi))
  | Project L phi => once (map (relabel (common L)) (evaluate evs phi))
  | Rename X Y phi => once (map (relabel (rename X Y)) (evaluate evs phi))
  | All phi psi => product (fun _ _ => true) (evaluate evs phi) (evaluate evs psi)
  | Unless phi psi => let Ws := evaluate evs psi in
      filter (fun V => negb (existsb (fun W => is_inside W V) Ws)) (evaluate evs phi)
  | Not phi => at_events evs (fun t => empty (evaluate [t] phi)) none
  | Select s phi => let Vs := evaluate evs phi in
      filter (fun V => admissible_b evs s (taken V) &&
        negb (existsb (fun W => (last_position W =? last_position V) && beats_b evs s (taken W) (taken V)) Vs)) Vs
  | Within phi w => filter (fits_b evs w) (evaluate evs phi)
  end.

(** Counts: [times gap phi k] is phi 1 + k times, [count] from 1 + least to 1 + least + extra times. *)
Definition joined {D} (gap : bool) (phi psi : formula D) : formula D :=
  if gap then Seq phi psi else Concat phi psi.
Fixpoint times {D} (gap : bool) (phi : formula D) (k : nat) : formula D :=
  match k with 0 => phi | S k => joined gap phi (times gap phi k) end.
Fixpoint count {D} (gap : bool) (phi : formula D) (least extra : nat) : formula D :=
  match extra with
  | 0 => times gap phi least
  | S extra => Or (times gap phi least) (count gap phi (S least) extra)
  end.
Fixpoint count_up {D} (gap : bool) (phi : formula D) (least : nat) : formula D :=
  match least with
  | 0 => if gap then Plus phi else ConcatPlus phi
  | S least => joined gap phi (count_up gap phi least)
  end.

(** The complex events, each once. *)
Definition answers {D} (evs : stream D) (phi : formula D) : list complex_event :=
  nodup complex_event_dec (map complex (evaluate evs phi)).
