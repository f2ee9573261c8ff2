(** The evaluator is sound and complete for the table. *)

Require Import Mechanised.Tactics.
Require Import Mechanised.Stream Mechanised.Formula Mechanised.Semantics Mechanised.Evaluate.

(** * Valuations lie inside the stream and are not empty. *)

Definition proper {D} (evs : stream D) (V : valuation) := row V <> [] /\ stop V <= length evs.

Lemma proper_stop V : row V <> [] -> first V < stop V.
Proof. unfold stop. destruct (row V); cbn; [congruence | lia]. Qed.

Lemma stop_relabel f V : stop (relabel f V) = stop V.
Proof. unfold stop, relabel; cbn. now rewrite map_length. Qed.

Lemma stop_union V W : row V <> [] -> row W <> [] ->
  stop (union V W) = Nat.max (stop V) (stop W).
Proof.
  intros HV HW. apply proper_stop in HV, HW. unfold stop at 1, union; cbn.
  rewrite map_length, seq_length. lia.
Qed.

Lemma row_union V W : row V <> [] -> row W <> [] -> row (union V W) <> [].
Proof.
  intros HV HW E. pose proof (stop_union V W HV HW) as H. apply proper_stop in HV, HW.
  unfold stop at 1 in H. rewrite E in H. unfold union in H; cbn in H. lia.
Qed.

Lemma proper_relabel {D} (evs : stream D) f V : proper evs V -> proper evs (relabel f V).
Proof.
  unfold proper. rewrite stop_relabel. intros [H ?]. split; auto.
  unfold relabel; cbn. destruct (row V); cbn; congruence.
Qed.

Lemma proper_union {D} (evs : stream D) V W : proper evs V -> proper evs W -> proper evs (union V W).
Proof. intros [] []. split; auto using row_union. rewrite stop_union by auto. lia. Qed.

Lemma proper_single {D} (evs : stream D) i t L : nth_error evs i = Some t -> proper evs (Valuation i [L]).
Proof. intros H. apply nth_error_length in H. split; cbn; [congruence | unfold stop; cbn; lia]. Qed.

Lemma proper_iteration {D} (evs : stream D) (R : valuation -> Prop) precedes V :
  (forall W, R W -> proper evs W) -> iteration R precedes V -> proper evs V.
Proof. induction 2; auto using proper_union. Qed.

Lemma sat_proper {D} (evs : stream D) phi V : V |=[evs] phi -> proper evs V.
Proof.
  revert V; induction phi; cbn; intros V H;
    try (destruct H as [H|H]; solve [eauto]); break; eauto using proper_single, proper_relabel, proper_union.
  - eapply proper_iteration; eauto.
  - eapply proper_iteration; eauto.
Qed.

(** * Tests decide what they should. *)

Lemma all_positions_true {A} (evs : list A) test :
  all_positions evs test = true <-> forall i, i < length evs -> test i = true.
Proof.
  unfold all_positions. rewrite forallb_forall. split; intros H i.
  - intros; apply H, in_seq; lia.
  - rewrite in_seq. intros []. apply H. lia.
Qed.

Lemma some_position_true {A} (evs : list A) test :
  some_position evs test = true <-> exists i, i < length evs /\ test i = true.
Proof.
  unfold some_position. rewrite existsb_exists. split; intros [i H]; exists i; rewrite in_seq in *.
  - intuition lia.
  - intuition lia.
Qed.

Lemma upto_true k test : upto k test = true <-> forall i, i < k -> test i = true.
Proof.
  unfold upto. rewrite forallb_forall. split; intros H i.
  - intros; apply H, in_seq; lia.
  - rewrite in_seq. intros []. apply H. lia.
Qed.

Lemma in_choices {A} (sets : list (list A)) : forall ts, In ts (choices sets) <-> Forall2 (@In A) ts sets.
Proof.
  induction sets as [|set sets IH]; intros ts; cbn.
  - split; [intros [<-|[]]; constructor | intros F; inversion F; now left].
  - rewrite in_flat_map. split.
    + intros (x & Ix & J). apply in_map_iff in J as (us & <- & J). constructor; auto. now apply IH.
    + intros F. inversion F as [|x us ? ? Ix J]; subst. exists x. split; auto. apply in_map, IH, J.
Qed.

Lemma implb_true a b : implb a b = true <-> (a = true -> b = true).
Proof. destruct a, b; cbn; intuition. Qed.

Lemma holds_b_correct {D} (evs : stream D) V c : holds_b evs V c = true <-> holds evs V c.
Proof.
  induction c as [[P|P] Xs | c IHc d IHd | c IHc d IHd]; cbn.
  - rewrite forallb_forall. now setoid_rewrite in_choices.
  - reflexivity.
  - rewrite andb_true_iff. tauto.
  - rewrite orb_true_iff. tauto.
Qed.

Lemma fits_b_correct {D} (evs : stream D) w V : fits_b evs w V = true <-> fits evs w V.
Proof.
  destruct w as [n|near]; cbn; [apply Nat.leb_le|].
  destruct (nth_error evs (first V)), (nth_error evs (last_position V)); split; intros H; break;
    try discriminate; eauto; congruence.
Qed.

(** Nothing is taken outside the stream. *)
Definition bounded (n : nat) (v : nat -> bool) := forall i, v i = true -> i < n.

Lemma bounded_taken {D} (evs : stream D) V : proper evs V -> bounded (length evs) (taken V).
Proof.
  intros [_ H] i. unfold taken, at_position, stop in *.
  destruct (first V <=? i) eqn:E; reflect; [|cbn; discriminate].
  destruct (Nat.lt_ge_cases (i - first V) (length (row V))); [lia|].
  rewrite nth_overflow by lia. cbn; discriminate.
Qed.

Lemma beats_b_correct {D} (evs : stream D) s w v :
  bounded (length evs) w -> bounded (length evs) v -> beats_b evs s w v = true <-> beats s w v.
Proof.
  intros Hw Hv. destruct s; cbn.
  - easy.
  - rewrite some_position_true. split.
    + intros (k & _ & H). reflect. rewrite upto_true in H. break.
      exists k. repeat split; auto. intros l Hl. apply eqb_true_iff. auto.
    + intros (k & Hk & Hk' & H). exists k. split; [now apply Hw|]. reflect. rewrite upto_true.
      repeat split; auto. intros l Hl. apply eqb_true_iff. auto.
  - rewrite some_position_true. split.
    + intros (k & _ & H). reflect. rewrite all_positions_true in H. destruct H as [[Wk Vk] A].
      exists k. repeat split; auto. intros l Hl.
      destruct (Nat.lt_ge_cases l (length evs)) as [I|I].
      * specialize (A l I). rewrite implb_true in A. apply eqb_true_iff. apply A. now apply Nat.ltb_lt.
      * destruct (w l) eqn:E, (v l) eqn:E'; auto; [apply Hw in E | apply Hv in E']; lia.
    + intros (k & Hk & Hk' & H). exists k. split; [now apply Hw|]. reflect. rewrite all_positions_true.
      repeat split; auto. intros l _. rewrite implb_true. intros Hl. rewrite eqb_true_iff. now apply H, Nat.ltb_lt.
  - rewrite andb_true_iff, all_positions_true, some_position_true. split.
    + intros [H (k & _ & K)]. reflect. split; [|exists k; tauto].
      intros l Hl. specialize (H l (Hv l Hl)). rewrite implb_true in H. auto.
    + intros [H (k & K & K')]. split.
      * intros l _. rewrite implb_true. auto.
      * exists k. split; [now apply Hw|]. reflect. auto.
Qed.

Lemma admissible_b_correct {D} (evs : stream D) s v :
  bounded (length evs) v -> admissible_b evs s v = true <-> admissible s v.
Proof.
  intros Hv. destruct s; cbn; try tauto. rewrite all_positions_true. split.
  - intros H i j k Hijk Hi Hk. specialize (H k (Hv k Hk)).
    rewrite implb_true, upto_true in H. specialize (H Hk j ltac:(lia)).
    rewrite implb_true, upto_true in H. destruct (v j); auto.
    specialize (H eq_refl i ltac:(lia)). rewrite Hi in H. discriminate.
  - intros H k _. rewrite implb_true, upto_true. intros Hk j Hj.
    rewrite implb_true, upto_true. intros Hj' i Hi. destruct (v i) eqn:E; auto.
    rewrite (H i j k) in Hj'; auto.
Qed.

(** * Products and iterations. *)

Lemma in_apart Vs V : In V (apart Vs) <-> In V Vs.
Proof.
  induction Vs as [|X [|Y Vs] IH]; [easy | easy |]. cbn [apart] in *.
  destruct (valuation_dec X Y) as [->|]; cbn [In] in *; rewrite ?IH; intuition.
Qed.

Lemma in_once Vs V : In V (once Vs) <-> In V Vs.
Proof.
  unfold once. rewrite in_apart. pose proof (Sorted.Permuted_sort Vs) as P.
  split; apply Permutation.Permutation_in; [now apply Permutation.Permutation_sym | exact P].
Qed.

Lemma in_product precedes Vs Ws V : In V (product precedes Vs Ws) <->
  exists W1 W2, In W1 Vs /\ In W2 Ws /\ precedes W1 W2 = true /\ V = union W1 W2.
Proof.
  unfold product. rewrite in_once, in_flat_map. split.
  - intros (W1 & I1 & I). apply in_map_iff in I as (W2 & <- & I). apply filter_In in I as [I2 P]. eauto 8.
  - intros (W1 & W2 & I1 & I2 & P & ->). exists W1. split; auto. apply in_map_iff. exists W2. split; auto.
    now apply filter_In.
Qed.

Definition decides (p : valuation -> valuation -> bool) (P : valuation -> valuation -> Prop) :=
  forall V W, p V W = true <-> P V W.

Lemma decides_before : decides is_before before.
Proof. intros V W. apply Nat.leb_le. Qed.
Lemma decides_adjacent : decides is_adjacent adjacent.
Proof. intros V W. apply Nat.eqb_eq. Qed.
Lemma decides_inside : decides is_inside inside.
Proof. intros V W. unfold is_inside, inside. now rewrite andb_true_iff, !Nat.leb_le. Qed.

Lemma iterate_sound p P n Vs V : decides p P ->
  In V (iterate p n Vs) -> iteration (fun W => In W Vs) P V.
Proof.
  intros Hp. revert V; induction n; cbn; intros V H; [now constructor|].
  members. destruct H as [H|H]; [now constructor|].
  rewrite in_product in H. break. apply more; auto. now apply Hp.
Qed.

(** Each part of an iteration has an event, so it has no more parts than events. *)
Lemma iterate_complete p P n Vs V : decides p P -> (forall V W, P V W -> before V W) ->
  (forall W, In W Vs -> row W <> []) ->
  iteration (fun W => In W Vs) P V -> stop V <= first V + S n -> In V (iterate p n Vs).
Proof.
  intros Hp HP HVs H. revert n; induction H as [V H | V W HV HW IH HVW]; intros n Hn.
  - destruct n; cbn; members; auto.
  - assert (RW : row W <> []) by (clear - HVs HW; induction HW; auto using row_union).
    pose proof (HVs _ HV) as RV. rewrite stop_union in Hn by auto.
    pose proof (proper_stop _ RV). pose proof (proper_stop _ RW).
    pose proof (HP _ _ HVW) as B. unfold before in B. unfold union in Hn; cbn in Hn.
    destruct n; [lia|]. cbn. members. right. rewrite in_product. exists V, W.
    repeat split; auto; [apply IH; lia | now apply Hp].
Qed.

Lemma iteration_iff (R R' : valuation -> Prop) P V : (forall W, R W <-> R' W) -> iteration R P V <-> iteration R' P V.
Proof. intros H; split; induction 1; constructor; auto; now apply H. Qed.

Lemma iterate_correct {D} (evs : stream D) p P Vs V : decides p P ->
  (forall V W, P V W -> before V W) -> (forall W, In W Vs -> proper evs W) ->
  In V (iterate p (length evs) Vs) <-> iteration (fun W => In W Vs) P V.
Proof.
  intros Hp HP HVs. split; [now apply iterate_sound|]. intros H.
  apply iterate_complete with P; auto; [apply HVs|].
  apply (proper_iteration evs) in H; auto. destruct H. lia.
Qed.

Lemma in_at_events {D} (evs : stream D) test L V : In V (at_events evs test L) <->
  exists i t, nth_error evs i = Some t /\ test t = true /\ V = Valuation i [L].
Proof.
  unfold at_events. members. split.
  - intros [i [_ H]]. destruct (nth_error evs i) as [t|] eqn:E; break.
    destruct (test t) eqn:F; break. eauto 6.
  - intros (i & t & E & F & ->). exists i. members. rewrite E, F.
    apply nth_error_length in E. split; [lia | now left].
Qed.

Lemma empty_true {A} (l : list A) : empty l = true <-> forall x, ~ In x l.
Proof.
  destruct l as [|y l]; cbn; split; auto; try discriminate. intros N. exfalso. apply (N y). now left.
Qed.

Lemma exists_iff {A} (P Q : A -> Prop) :
  (forall x, P x <-> Q x) -> (exists x, P x) <-> (exists x, Q x).
Proof. firstorder. Qed.

(** * The theorem. *)

Theorem evaluate_correct {D} (phi : formula D) :
  forall (evs : stream D) V, In V (evaluate evs phi) <-> V |=[evs] phi.
Proof.
  induction phi as [R | phi IHphi X | phi IHphi c | phi1 IHphi1 phi2 IHphi2 | phi1 IHphi1 phi2 IHphi2 | phi1 IHphi1 phi2 IHphi2
    | phi1 IHphi1 phi2 IHphi2 | phi IHphi | phi IHphi | L phi IHphi | X Y phi IHphi | phi1 IHphi1 phi2 IHphi2
    | phi1 IHphi1 phi2 IHphi2 | phi IHphi | s phi IHphi | phi IHphi w];
    intros evs V; cbn.
  - (* R *) rewrite in_at_events. do 2 (apply exists_iff; intro). now rewrite N.eqb_eq.
  - (* AS *) rewrite in_once. members. apply exists_iff; intro. rewrite IHphi. intuition.
  - (* FILTER *) members. now rewrite IHphi, holds_b_correct.
  - (* OR *) rewrite in_once. members. now rewrite IHphi1, IHphi2.
  - (* AND *) members. rewrite IHphi1. rewrite <- IHphi2.
    destruct (in_dec valuation_dec V (evaluate evs phi2)); intuition; discriminate.
  - (* ; *) rewrite in_product. do 2 (apply exists_iff; intro).
    now rewrite IHphi1, IHphi2, (decides_before _ _).
  - (* : *) rewrite in_product. do 2 (apply exists_iff; intro).
    now rewrite IHphi1, IHphi2, (decides_adjacent _ _).
  - (* + *) rewrite in_once. members. rewrite (iterate_correct evs _ before); auto using decides_before.
    + now apply iteration_iff.
    + intros W H. now apply IHphi, sat_proper in H.
  - (* :+ *) rewrite in_once. members. rewrite (iterate_correct evs _ adjacent); auto using decides_adjacent.
    + now apply iteration_iff.
    + intros ? ? H. unfold before. now rewrite H.
    + intros W H. now apply IHphi, sat_proper in H.
  - (* projection *) rewrite in_once. members. apply exists_iff; intro. rewrite IHphi. intuition.
  - (* renaming *) rewrite in_once. members. apply exists_iff; intro. rewrite IHphi. intuition.
  - (* ALL *) rewrite in_product. do 2 (apply exists_iff; intro).
    rewrite IHphi1, IHphi2. intuition.
  - (* UNLESS *) members. rewrite IHphi1, negb_true_iff, <- not_true_iff_false, existsb_exists.
    split; intros [H N]; split; auto.
    + intros W HW I. apply N. exists W. rewrite IHphi2, (decides_inside _ _). auto.
    + intros (W & HW & I). rewrite IHphi2 in HW. rewrite (decides_inside _ _) in I. now apply (N W).
  - (* NOT *) rewrite in_at_events. do 2 (apply exists_iff; intro). rewrite empty_true.
    split; intros (? & H & ?); repeat split; auto; intros W HW; apply (H W), IHphi; auto.
  - (* strategies *) members. rewrite IHphi, andb_true_iff, negb_true_iff.
    rewrite <- not_true_iff_false, existsb_exists. split; intros (H & A & N);
      pose proof (bounded_taken evs V (sat_proper _ _ _ H)) as B;
      rewrite admissible_b_correct in * by auto; repeat split; auto.
    + intros W HW E C. apply N. exists W. rewrite IHphi, andb_true_iff, Nat.eqb_eq.
      rewrite beats_b_correct; eauto using bounded_taken, sat_proper.
    + intros (W & HW & E). rewrite IHphi in HW. reflect. destruct E as [E C].
      rewrite beats_b_correct in C; eauto using bounded_taken, sat_proper. now apply (N W).
  - (* WITHIN *) members. now rewrite IHphi, fits_b_correct.
Qed.

(** Each valuation once, and each complex event. *)
Lemma nodup_filter {A} (f : A -> bool) l : NoDup l -> NoDup (filter f l).
Proof.
  induction 1 as [|x l N H IH]; cbn; [constructor|]. destruct (f x); auto. constructor; auto.
  intros I. apply filter_In in I. tauto.
Qed.

Theorem answers_correct {D} (evs : stream D) phi C : In C (answers evs phi) <-> answer evs phi C.
Proof.
  unfold answers, answer. members. apply exists_iff; intro. rewrite evaluate_correct. intuition.
Qed.

(** Counts are formulas. *)
Lemma joined_correct {D} (evs : stream D) gap phi psi V : V |=[evs] joined gap phi psi <->
  exists W1 W2, W1 |=[evs] phi /\ W2 |=[evs] psi /\ (if gap then before else adjacent) W1 W2 /\ V = union W1 W2.
Proof. now destruct gap. Qed.

Lemma times_correct {D} (evs : stream D) gap phi k : forall V, V |=[evs] times gap phi k <->
  repeated (fun W => W |=[evs] phi) (if gap then before else adjacent) (1 + k) V.
Proof.
  induction k as [|k IH]; intros V; cbn [times].
  - split; [intros sat; now constructor|]. intros R. inversion R as [? sat|? ? ? ? R']; subst; auto. inversion R'.
  - rewrite joined_correct. split.
    + intros (W1 & W2 & sat1 & sat2 & P & ->). apply IH in sat2. now apply next_time.
    + intros R. inversion R as [|? W1 W2 sat1 R' P]; subst. exists W1, W2. rewrite IH. auto.
Qed.

Theorem count_correct {D} (evs : stream D) gap phi least extra V : V |=[evs] count gap phi least extra <->
  counted evs gap phi (1 + least) (Some (1 + least + extra)) V.
Proof.
  revert least; induction extra as [|extra IH]; intros least; cbn [count]; unfold counted in *.
  - rewrite times_correct. split.
    + intros R. exists (1 + least). repeat split; auto; lia.
    + intros (n & L & U & R). now replace n with (1 + least) in R by lia.
  - cbn [sat]. rewrite times_correct, IH. split.
    + intros [R|(n & L & U & R)]; [exists (1 + least) | exists n]; repeat split; auto; lia.
    + intros (n & L & U & R). destruct (Nat.eq_dec n (1 + least)) as [->|N]; [now left | right].
      exists n. repeat split; auto; lia.
Qed.

Lemma iteration_repeated (once : valuation -> Prop) precedes V :
  iteration once precedes V <-> exists n, 1 <= n /\ repeated once precedes n V.
Proof.
  split.
  - induction 1 as [V H|V W H _ (n & L & R) P]; [exists 1 | exists (1 + n)]; (split; [lia|]); now constructor.
  - intros (n & _ & R). induction R as [V H|n V W H _ IH P]; now constructor.
Qed.

Theorem count_up_correct {D} (evs : stream D) gap phi least : forall V, V |=[evs] count_up gap phi least <->
  counted evs gap phi (1 + least) None V.
Proof.
  unfold counted. induction least as [|least IH]; intros V; cbn [count_up].
  - transitivity (iteration (fun W => W |=[evs] phi) (if gap then before else adjacent) V); [now destruct gap|].
    rewrite iteration_repeated. split; intros (n & H); exists n; tauto.
  - rewrite joined_correct. split.
    + intros (W1 & W2 & sat1 & sat2 & P & ->). apply IH in sat2 as (n & L & _ & R).
      exists (1 + n). repeat split; [lia | now apply next_time].
    + intros (n & L & _ & R). inversion R as [|m W1 W2 sat1 R' P]; subst; [lia|].
      exists W1, W2. rewrite IH. repeat split; auto. exists m. repeat split; auto; lia.
Qed.

Theorem answers_once {D} (evs : stream D) phi : NoDup (answers evs phi).
Proof. apply NoDup_nodup. Qed.
