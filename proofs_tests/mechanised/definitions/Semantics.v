(** What formulas mean (CORE Table 2, SOCEL Table 1, FOUND Sec. 4): [V |=[evs] phi].

    The table is a recursion on the formula, because UNLESS and the strategies speak of valuations
    that are not there; the iterations are inductive. *)

Require Import List NArith Arith Bool.
Import ListNotations.
Require Import Mechanised.Stream Mechanised.Formula.

(** V1(end) < V2(start), and V1(end) + 1 = V2(start). *)
Definition before (V W : valuation) : Prop := stop V <= first W.
Definition adjacent (V W : valuation) : Prop := stop V = first W.

(** All positions of W are inside the interval of V. *)
Definition inside (W V : valuation) : Prop := first V <= first W /\ stop W <= stop V.

(** [phi+] is the least set with [phi+ = phi OR (phi ; phi+)]. *)
Inductive iteration (once : valuation -> Prop) (precedes : valuation -> valuation -> Prop)
  : valuation -> Prop :=
| one V : once V -> iteration once precedes V
| more V W : once V -> iteration once precedes W -> precedes V W ->
    iteration once precedes (union V W).

(** [phi] exactly n times. *)
Inductive repeated (once : valuation -> Prop) (precedes : valuation -> valuation -> Prop)
  : nat -> valuation -> Prop :=
| first_time V : once V -> repeated once precedes 1 V
| next_time n V W : once V -> repeated once precedes n W -> precedes V W ->
    repeated once precedes (1 + n) (union V W).

(** Events of a label, in order. *)
Definition events_at {D} (evs : stream D) (V : valuation) (X : label) : list (event D) :=
  flat_map (fun i => match nth_error evs i with Some t => [t] | None => [] end)
           (where_ V (at_label V X)).

Definition related {D} (P : relation D) (sets : list (list (event D))) : Prop :=
  match P with
  | Every P => forall ts, Forall2 (@In (event D)) ts sets -> P ts = true
  | Sets P => P sets = true
  end.

Fixpoint holds {D} (evs : stream D) (V : valuation) (c : condition D) : Prop :=
  match c with
  | Relates P Xs => related P (map (events_at evs V) Xs)
  | AndAlso c d => holds evs V c /\ holds evs V d
  | OrElse c d => holds evs V c \/ holds evs V d
  end.

(** AS: positions that have a label get X too. *)
Definition name (X : label) (L : labels) : labels := if is_none L then L else add X L.

(** Renaming: what has X has Y instead. *)
Definition rename (X Y : label) (L : labels) : labels :=
  if has X L then add Y (N.clearbit L X) else L.

(** W beats V, by the positions that they take (corrected, E1 and E2). *)
Definition beats (s : strategy) (w v : nat -> bool) : Prop :=
  match s with
  | Strict => False
  | Nxt => exists k, w k = true /\ v k = false /\ forall l, l < k -> w l = v l
  | Last => exists k, w k = true /\ v k = false /\ forall l, k < l -> w l = v l
  | Max => (forall k, v k = true -> w k = true) /\ exists k, w k = true /\ v k = false
  end.

(** STRICT alone asks something of a valuation by itself: no gap. *)
Definition admissible (s : strategy) (v : nat -> bool) : Prop :=
  match s with
  | Strict => forall i j k, i < j < k -> v i = true -> v k = true -> v j = true
  | _ => True
  end.

Definition fits {D} (evs : stream D) (w : window D) (V : valuation) : Prop :=
  match w with
  | Events n => last_position V - first V <= n
  | Between near => exists t u,
      nth_error evs (first V) = Some t /\ nth_error evs (last_position V) = Some u /\ near t u = true
  end.

Reserved Notation "V |=[ evs ] phi" (at level 70, evs at level 200, phi at next level).

Fixpoint sat {D} (evs : stream D) (phi : formula D) (V : valuation) {struct phi} : Prop :=
  match phi with
  | Atom R => exists i t, nth_error evs i = Some t /\ type t = R /\ V = Valuation i [only R]
  | As phi X => exists W, W |=[evs] phi /\ V = relabel (name X) W
  | Filter phi c => V |=[evs] phi /\ holds evs V c
  | Or phi psi => V |=[evs] phi \/ V |=[evs] psi
  | And phi psi => V |=[evs] phi /\ V |=[evs] psi
  | Seq phi psi => exists W1 W2, W1 |=[evs] phi /\ W2 |=[evs] psi /\ before W1 W2 /\ V = union W1 W2
  | Concat phi psi =>
      exists W1 W2, W1 |=[evs] phi /\ W2 |=[evs] psi /\ adjacent W1 W2 /\ V = union W1 W2
  | Plus phi => iteration (fun W => W |=[evs] phi) before V
  | ConcatPlus phi => iteration (fun W => W |=[evs] phi) adjacent V
  | Project L phi => exists W, W |=[evs] phi /\ V = relabel (common L) W
  | Rename X Y phi => exists W, W |=[evs] phi /\ V = relabel (rename X Y) W
  | All phi psi => exists W1 W2, W1 |=[evs] phi /\ W2 |=[evs] psi /\ V = union W1 W2
  | Unless phi psi => V |=[evs] phi /\ forall W, W |=[evs] psi -> ~ inside W V
  | Not phi => exists i t, nth_error evs i = Some t /\ (forall W, ~ W |=[[t]] phi) /\
      V = Valuation i [none]
  | Select s phi => V |=[evs] phi /\ admissible s (taken V) /\
      forall W, W |=[evs] phi -> last_position W = last_position V -> ~ beats s (taken W) (taken V)
  | Within phi w => V |=[evs] phi /\ fits evs w V
  end
where "V |=[ evs ] phi" := (sat evs phi V).

(** [phi{least,most}] with gaps, [phi:{least,most}] without; None is any number. *)
Definition counted {D} (evs : stream D) (gap : bool) (phi : formula D) least most V : Prop :=
  exists n, least <= n /\ match most with Some m => n <= m | None => True end /\
    repeated (fun W => W |=[evs] phi) (if gap then before else adjacent) n V.

(** The complex events of a formula (CORE Sec. 2.2). *)
Definition answer {D} (evs : stream D) (phi : formula D) (C : complex_event) : Prop :=
  exists V, V |=[evs] phi /\ C = complex V.
